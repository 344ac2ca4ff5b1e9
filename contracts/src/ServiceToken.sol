// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Permit} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Permit.sol";

/// @title The service's own reward token
/// @notice 18 decimals, ERC-2612 permits, the whole supply minted once. Nobody can mint, pause, freeze or upgrade it.
contract ServiceToken is ERC20, ERC20Permit {
    /// @param name_ The token's name, also in the EIP-712 domain of its permits (version `1`).
    /// @param symbol_ The token's symbol.
    /// @param holder Who gets the supply.
    /// @param supply The supply in base units.
    constructor(string memory name_, string memory symbol_, address holder, uint256 supply)
        ERC20(name_, symbol_)
        ERC20Permit(name_)
    {
        _mint(holder, supply);
    }
}
