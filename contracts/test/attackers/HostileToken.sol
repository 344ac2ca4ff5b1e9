// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";

/// @dev A token that behaves until a fault is set for all further transfers.
contract HostileToken is ERC20 {
    enum Mood {
        Honest,
        /// A hundredth of every transfer is kept.
        TakesFee,
        /// A hundredth is added to every transfer.
        GivesBonus,
        /// Says true and moves nothing.
        MovesNothing,
        /// Says false and moves nothing.
        ReturnsFalse,
        /// Moves, and says nothing, as tokens older than the standard do.
        ReturnsNothing,
        /// Moves, and says 2.
        ReturnsTwo,
        /// Moves, after much work.
        WorksHard,
        /// Fails with a very long reason.
        RevertsAtLength,
        /// Fails and burns all the gas it was given.
        BurnsAllGas
    }

    /// @dev What WorksHard spends: so much that the 64th part that a caller keeps when a call runs out of gas is enough
    /// to write a credit.
    uint256 public constant HARD_WORK = 4_000_000;

    Mood public mood;

    constructor(address holder) ERC20("Hostile", "HOSTILE") {
        _mint(holder, 1e15 * 1e18);
    }

    function setMood(Mood mood_) external {
        mood = mood_;
    }

    function transfer(address to, uint256 amount) public override returns (bool) {
        return move(msg.sender, to, amount);
    }

    function transferFrom(address from, address to, uint256 amount) public override returns (bool) {
        _spendAllowance(from, msg.sender, amount);
        return move(from, to, amount);
    }

    function move(address from, address to, uint256 amount) private returns (bool) {
        if (mood == Mood.MovesNothing) return true;
        if (mood == Mood.ReturnsFalse) return false;
        if (mood == Mood.RevertsAtLength) fail(100_000);
        if (mood == Mood.BurnsAllGas) burnAllGas();
        if (mood == Mood.WorksHard) work();
        _transfer(from, to, amount);
        if (mood == Mood.TakesFee) _burn(to, amount / 100);
        if (mood == Mood.GivesBonus) _mint(to, amount / 100);
        if (mood == Mood.ReturnsNothing) answer(0, 0);
        if (mood == Mood.ReturnsTwo) answer(2, 0x20);
        return true;
    }

    /// @dev Spends a bit more than HARD_WORK at once, by touching memory far away: 3 gas a word and its square / 512.
    function work() private pure {
        assembly ("memory-safe") {
            mstore(mul(45000, 0x20), 1)
        }
    }

    function burnAllGas() private pure {
        assembly ("memory-safe") {
            invalid()
        }
    }

    function fail(uint256 length) private pure {
        assembly ("memory-safe") {
            revert(mload(0x40), length)
        }
    }

    function answer(uint256 value, uint256 length) private pure {
        assembly ("memory-safe") {
            mstore(0, value)
            return(0, length)
        }
    }
}
