// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Base} from "./Base.t.sol";
import {InvariantHandler} from "./InvariantHandler.sol";

/// @dev What holds after every step of every run of InvariantHandler: the two sums of the specification, "no
/// slot is paid twice", and that all money is where the handler's books say.
contract InvariantTest is Base {
    struct FuzzSelector {
        address addr;
        bytes4[] selectors;
    }

    /// @dev The depth configured below.
    uint256 private constant FULL_LIFE = 256;

    InvariantHandler private handler;
    IMissionFactory private ledger;
    address[2] private tokens;

    function setUp() public override {
        handler = new InvariantHandler();
        handler.setUp();
        ledger = handler.theFactory();
        tokens = handler.theTokens();
    }

    function targetContracts() external view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(handler);
    }

    /// @dev An action that is listed three times is taken three times as often.
    function targetSelectors() external view returns (FuzzSelector[] memory targets) {
        bytes4[14] memory actions = [
            handler.create.selector,
            handler.revoke.selector,
            handler.settle.selector,
            handler.settle.selector,
            handler.settle.selector,
            handler.retry.selector,
            handler.redeem.selector,
            handler.counterfeit.selector,
            handler.close.selector,
            handler.reclaim.selector,
            handler.claim.selector,
            handler.donate.selector,
            handler.meddle.selector,
            handler.wait_.selector
        ];
        targets = new FuzzSelector[](1);
        targets[0] = FuzzSelector(address(handler), new bytes4[](actions.length));
        for (uint256 i = 0; i < actions.length; ++i) {
            targets[0].selectors[i] = actions[i];
        }
    }

    /// @dev One invariant with all the checks, because every invariant function costs a whole campaign of its own.
    /// The handler never reverts: one that does is a failure.
    /// Arguments are seeds, so values gathered from code and storage would only repeat themselves.
    /// forge-config: default.invariant.runs = 80
    /// forge-config: default.invariant.depth = 256
    /// forge-config: default.invariant.fail-on-revert = true
    /// forge-config: default.invariant.dictionary-weight = 0
    /// forge-config: default.invariant.include-storage = false
    /// forge-config: default.invariant.include-push-bytes = false
    /// forge-config: default.invariant.shrink-run-limit = 500
    function invariant_everyUnitIsAccountedFor() public view {
        vm.assertLe(handler.mostTimesPaid(), 1, "a slot was paid twice");
        vm.assertEq(handler.surprise(), "");
        checkTokens(checkMissions());
    }

    /// @dev Per mission: reward x target = reward x paidCount + remaining, or + the refund once it has ended.
    /// @return held What the open missions of each token hold.
    function checkMissions() private view returns (uint256[2] memory held) {
        (bytes32[] memory keys, InvariantHandler.Entry[] memory entries) = handler.allEntries();
        for (uint256 i = 0; i < keys.length; ++i) {
            InvariantHandler.Entry memory entry = entries[i];
            IMissionFactory.Mission memory mission = ledger.missions(keys[i]);
            uint256 remaining = ledger.remaining(keys[i]);
            uint256 budget = entry.reward * entry.target;
            uint256 paid = uint256(mission.rewardPerSubmission) * mission.paidCount;
            same(budget, paid + remaining + entry.refund, "a mission's sum is off");
            same(paid, entry.paidOut, "a mission has paid something else than its slots");
            same(mission.paidCount, entry.paidSlots, "slots were paid unseen, or seen unpaid");
            same(uint8(mission.closed), uint8(entry.ended), "a mission has not ended as seen");
            if (entry.ended != IMissionFactory.CloseReason.None) same(remaining, 0, "a closed mission holds money");
            held[entry.token == tokens[0] ? 0 : 1] += remaining;
        }
    }

    /// @dev Per token: balance >= what open missions hold + what is deferred; to the unit, once donations are counted.
    function checkTokens(uint256[2] memory held) private view {
        for (uint256 i = 0; i < tokens.length; ++i) {
            uint256 owed = held[i] + checkAccounts(tokens[i]);
            uint256 balance = IERC20(tokens[i]).balanceOf(address(ledger));
            if (balance < owed) vm.assertGe(balance, owed, "the factory owes more than it has");
            same(balance, owed + handler.donated(tokens[i]), "money is stuck in the factory");
            (uint256 limit, uint256 spent, uint256 day) = ledger.dailyCaps(tokens[i]);
            same(limit, handler.capOf(tokens[i]), "a cap is off");
            same(spent, handler.spentOn(tokens[i], day), "a day's sum is off");
        }
    }

    /// @return deferred The sum of all credits in the token.
    function checkAccounts(address token) private view returns (uint256 deferred) {
        (address[7] memory accounts, uint256[7] memory wallets, uint256[7] memory credits) = handler.accountsIn(token);
        for (uint256 i = 0; i < accounts.length; ++i) {
            uint256 credit = ledger.deferred(token, accounts[i]);
            same(credit, credits[i], "a credit is off");
            same(IERC20(token).balanceOf(accounts[i]), wallets[i], "a wallet is off");
            deferred += credit;
        }
    }

    /// @dev Asks the cheat code only to fail: a campaign makes millions of comparisons.
    function same(uint256 left, uint256 right, string memory message) private pure {
        if (left != right) vm.assertEq(left, right, message);
    }

    /// @dev A run in which nothing happened proves nothing. A usual run has nine times as many actions.
    /// (When forge looks for the shortest way to a failure, it tries many lives that are cut short.)
    function afterInvariant() external view {
        if (handler.actions() < FULL_LIFE) return;
        vm.assertGe(handler.count("paying settlements"), 4, "paying settlements");
        vm.assertGe(handler.count("paid slots"), 10, "paid slots");
    }
}
