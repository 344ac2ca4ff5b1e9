// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @dev An account that is called when its tokens move.
interface ITokenHook {
    function onTokenMove() external;
}

/// @dev Calls the accounts that want it before their tokens are pulled and after tokens were sent to them, as ERC-777
/// does.
contract HookToken is ERC20 {
    error Refused();

    mapping(address account => bool) public hooked;
    bool public refusing;

    constructor(address holder) ERC20("Hook", "HOOK") {
        _mint(holder, 1e15 * 1e18);
    }

    /// @dev From now on the sender is called.
    function hook() external {
        hooked[msg.sender] = true;
    }

    /// @dev While refusing, transfers fail, so that payouts become credits.
    function setRefusing(bool refusing_) external {
        refusing = refusing_;
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        if (refusing) revert Refused();
        super.transfer(to, amount);
        tell(to);
        return true;
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        tell(from);
        return super.transferFrom(from, to, amount);
    }

    function tell(address account) private {
        if (hooked[account]) ITokenHook(account).onTokenMove();
    }
}
