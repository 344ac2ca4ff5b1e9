// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC1967Proxy} from "@openzeppelin/contracts/proxy/ERC1967/ERC1967Proxy.sol";
import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";

/// @title A stand-in for USDC on development and test chains
/// @notice Has what makes the real one awkward for an escrow: 6 decimals, a proxy in front, an issuer who can pause all
/// transfers and put any account on a denylist. Never deploy it where it could be taken for money.
/// @dev Runs behind {TestUSDCProxy}: name, symbol and decimals are code, all else is set by {initialize}.
contract TestUSDC is ERC20, Pausable, Initializable {
    /// @notice Only the owner may do this.
    error NotOwner(address sender);

    /// @notice Only the owner and minters may mint.
    error NotMinter(address sender);

    /// @notice The account is on the denylist.
    error Denylisted(address account);

    /// @notice An account was put on the denylist or taken off it.
    event DenylistSet(address indexed account, bool listed);

    /// @notice An account may mint, or may no longer.
    event MinterSet(address indexed account, bool allowed);

    /// @notice The issuer.
    address public owner;
    /// @notice Who may mint, besides the owner.
    mapping(address account => bool) public isMinter;
    /// @notice Who may neither send, receive nor approve.
    mapping(address account => bool) public isDenylisted;

    modifier onlyOwner() {
        if (msg.sender != owner) revert NotOwner(msg.sender);
        _;
    }

    constructor() ERC20("", "") {
        _disableInitializers();
    }

    /// @notice Makes `issuer` the owner. Once per proxy.
    function initialize(address issuer) external initializer {
        owner = issuer;
    }

    /// @notice Creates tokens.
    function mint(address to, uint256 amount) external {
        if (msg.sender != owner && !isMinter[msg.sender]) revert NotMinter(msg.sender);
        _mint(to, amount);
    }

    /// @notice Lets an account mint, or no longer.
    function setMinter(address account, bool allowed) external onlyOwner {
        isMinter[account] = allowed;
        emit MinterSet(account, allowed);
    }

    /// @notice Puts an account on the denylist or takes it off.
    function setDenylisted(address account, bool listed) external onlyOwner {
        isDenylisted[account] = listed;
        emit DenylistSet(account, listed);
    }

    /// @notice Stops transfers, mints and approvals.
    function pause() external onlyOwner {
        _pause();
    }

    /// @notice Lifts the pause.
    function unpause() external onlyOwner {
        _unpause();
    }

    /// @inheritdoc ERC20
    function name() public pure override returns (string memory) {
        return "Test USDC";
    }

    /// @inheritdoc ERC20
    function symbol() public pure override returns (string memory) {
        return "USDC";
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @dev Transfers, mints and burns; the sender of a transferFrom is checked in _spendAllowance.
    function _update(address from, address to, uint256 amount) internal override {
        if (paused()) revert EnforcedPause();
        if (isDenylisted[from]) revert Denylisted(from);
        if (isDenylisted[to]) revert Denylisted(to);
        super._update(from, to, amount);
    }

    function _approve(address holder, address spender, uint256 amount, bool emitEvent) internal override whenNotPaused {
        _checkNotDenylisted(holder);
        _checkNotDenylisted(spender);
        super._approve(holder, spender, amount, emitEvent);
    }

    function _spendAllowance(address holder, address spender, uint256 amount) internal override {
        _checkNotDenylisted(spender);
        super._spendAllowance(holder, spender, amount);
    }

    function _checkNotDenylisted(address account) private view {
        if (isDenylisted[account]) revert Denylisted(account);
    }
}

/// @title The address that a test chain's USDC lives at
/// @notice Deploys the implementation and points to it, so that one transaction makes a usable token.
contract TestUSDCProxy is ERC1967Proxy {
    /// @param issuer The token's owner.
    constructor(address issuer) ERC1967Proxy(address(new TestUSDC()), abi.encodeCall(TestUSDC.initialize, (issuer))) {}
}
