// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev Which slots a settlement pays, to whom, and how often: once. Signatures are in SettleSignature.t.sol, what
/// tokens and relayers do to a payout in SettleDeferral.t.sol.
contract SettleTest is Fixture {
    bytes32 private missionKey;

    function setUp() public override {
        super.setUp();
        missionKey = fundMission();
    }

    // ---------------------------------------------------------------------------------------------------- what it does

    function test_settle_paysEverySlotOfTheBatch() public {
        IMissionFactory.Payment[] memory payments = paymentsFrom(1, 3);
        bytes memory signature = signSettlement(missionKey, payments);

        vm.recordLogs();
        for (uint256 i = 0; i < 3; ++i) {
            expectPaid(missionKey, payments[i], REWARD);
        }
        vm.prank(stranger);
        factory.settle(missionKey, payments, signature);

        vm.assertEq(factoryEvents(), 3);
        for (uint256 i = 1; i <= 3; ++i) {
            vm.assertEq(usdc.balanceOf(contributor(i)), REWARD);
            vm.assertTrue(factory.isPaid(missionKey, i));
        }
        vm.assertFalse(factory.isPaid(missionKey, 0));
        vm.assertEq(factory.missions(missionKey).paidCount, 3);
        vm.assertEq(factory.remaining(missionKey), REWARD);
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD);
        vm.assertEq(usdc.balanceOf(stranger), 0);
        assertMissionSum(missionKey, 0);
    }

    function test_settle_paysServiceToken() public {
        bytes32 other = fund("mission-2", address(serviceToken), 5e18, 2);
        settle(other, paymentsFrom(0, 2));
        vm.assertEq(serviceToken.balanceOf(contributor(0)), 5e18);
        vm.assertEq(serviceToken.balanceOf(contributor(1)), 5e18);
        vm.assertEq(serviceToken.balanceOf(address(factory)), 0);
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
    }

    /// @dev Every receipt of a mission, redeemed by its contributor, in any order.
    function test_settle_receiptsOneByOne() public {
        for (uint256 i = 1; i <= TARGET; ++i) {
            uint256 slot = TARGET - i;
            IMissionFactory.Payment[] memory receipt = single(slot, contributor(slot));
            bytes memory signature = signSettlement(missionKey, receipt);
            expectPaid(missionKey, receipt[0], REWARD);
            vm.prank(contributor(slot));
            factory.settle(missionKey, receipt, signature);
            vm.assertEq(usdc.balanceOf(contributor(slot)), REWARD);
        }
        vm.assertEq(factory.remaining(missionKey), 0);
        vm.assertEq(usdc.balanceOf(address(factory)), 0);
    }

    function test_settle_oneRecipientManySlots() public {
        settle(missionKey, batch(payment(0, stranger), payment(3, stranger)));
        vm.assertEq(usdc.balanceOf(stranger), 2 * REWARD);
    }

    function test_settle_creatorAsRecipient() public {
        settle(missionKey, single(0, creator));
        vm.assertEq(usdc.balanceOf(creator), REWARD);
    }

    function test_settle_lastSlotOfTheLargestMission() public {
        bytes32 large = fund("large", address(usdc), 1, 100_000);
        settle(large, single(99_999, stranger));
        vm.assertTrue(factory.isPaid(large, 99_999));
        vm.assertEq(factory.remaining(large), 99_999);
        settleReverts(
            large,
            single(100_000, stranger),
            abi.encodeWithSelector(IMissionFactory.SlotOutOfRange.selector, 100_000, 100_000)
        );
    }

    function test_settle_emptyBatchChangesNothing() public {
        vm.recordLogs();
        settle(missionKey, new IMissionFactory.Payment[](0));
        vm.assertEq(factoryEvents(), 0);
        vm.assertEq(factory.missions(missionKey).paidCount, 0);
    }

    function test_isPaid_slotBeyondTheMission() public view {
        vm.assertFalse(factory.isPaid(missionKey, TARGET));
        vm.assertFalse(factory.isPaid(missionKey, type(uint256).max));
    }

    /// @dev After the reclaim date but before the creator reclaims, a receipt is still valid.
    function test_settle_longAfterFunding() public {
        vm.warp(NOW + 10 * RECLAIM_DELAY);
        settle(missionKey, single(0, stranger));
        vm.assertEq(usdc.balanceOf(stranger), REWARD);
    }

    // ---------------------------------------------------------------------------------------------- once and once only

    function test_settle_retriedBatchChangesNothing() public {
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, 3);
        bytes memory signature = signSettlement(missionKey, payments);
        factory.settle(missionKey, payments, signature);

        vm.recordLogs();
        factory.settle(missionKey, payments, signature);
        vm.assertEq(factoryEvents(), 0);
        assertPaidOnce(0, 3);
    }

    function test_settle_overlappingBatchPaysTheNewSlots() public {
        settle(missionKey, paymentsFrom(0, 2));

        IMissionFactory.Payment[] memory overlapping = paymentsFrom(1, 3);
        bytes memory signature = signSettlement(missionKey, overlapping);
        vm.recordLogs();
        expectPaid(missionKey, overlapping[1], REWARD);
        expectPaid(missionKey, overlapping[2], REWARD);
        factory.settle(missionKey, overlapping, signature);
        vm.assertEq(factoryEvents(), 2);
        assertPaidOnce(0, 4);
    }

    function test_settle_receiptRedeemedBeforeTheBatch() public {
        settle(missionKey, single(1, contributor(1)));
        settle(missionKey, paymentsFrom(0, 4));
        assertPaidOnce(0, 4);
    }

    function test_settle_duplicatedSlotPaysTheFirst() public {
        vm.recordLogs();
        settle(missionKey, batch(payment(2, stranger), payment(2, contributor(2))));
        vm.assertEq(factoryEvents(), 1);
        vm.assertEq(usdc.balanceOf(stranger), REWARD);
        vm.assertEq(usdc.balanceOf(contributor(2)), 0);
        vm.assertEq(factory.missions(missionKey).paidCount, 1);
        assertMissionSum(missionKey, 0);
    }

    /// @dev The same slots again and again, from different words of the bitmap, so that no word kept in memory across
    /// the batch can be stale.
    function test_settle_duplicatedSlotsAcrossWords() public {
        bytes32 wide = fund("wide", address(usdc), REWARD, 1000);
        uint16[10] memory slots = [0, 999, 0, 256, 255, 999, 256, 0, 511, 255];
        IMissionFactory.Payment[] memory payments = new IMissionFactory.Payment[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            payments[i] = payment(slots[i], contributor(slots[i]));
        }
        settle(wide, payments);
        vm.assertEq(factory.missions(wide).paidCount, 5);
        for (uint256 i = 0; i < slots.length; ++i) {
            vm.assertEq(usdc.balanceOf(contributor(slots[i])), REWARD);
            vm.assertTrue(factory.isPaid(wide, slots[i]));
        }
        assertMissionSum(wide, 0);
    }

    /// @dev More payments than the mission has slots, all of them to slots it has.
    function test_settle_moreDuplicatesThanSlots() public {
        IMissionFactory.Payment[] memory payments = new IMissionFactory.Payment[](3 * TARGET);
        for (uint256 i = 0; i < payments.length; ++i) {
            payments[i] = payment(i % TARGET, contributor(i % TARGET));
        }
        settle(missionKey, payments);
        assertPaidOnce(0, TARGET);
        vm.assertEq(factory.remaining(missionKey), 0);
    }

    /// @dev The same slot of another mission is another slot.
    function test_settle_missionsDoNotShareSlots() public {
        bytes32 other = fund("mission-2", address(usdc), 7, TARGET);
        settle(missionKey, paymentsFrom(0, TARGET));
        vm.assertFalse(factory.isPaid(other, 0));
        settle(other, paymentsFrom(0, TARGET));
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD + 7);
    }

    function assertPaidOnce(uint256 first, uint256 count) private view {
        for (uint256 slot = first; slot < first + count; ++slot) {
            vm.assertEq(usdc.balanceOf(contributor(slot)), REWARD);
        }
        vm.assertEq(factory.missions(missionKey).paidCount, count);
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * (TARGET - count));
        assertMissionSum(missionKey, 0);
    }

    /// @dev Any two batches, with any duplicates, pay the set of their slots. The model is a plain list of booleans.
    /// forge-config: default.fuzz.runs = 100
    function testFuzz_settle_paysTheSetOfSlots(uint16[] calldata first, uint16[] calldata second) public {
        uint256 target = 300;
        bytes32 wide = fund("wide", address(usdc), REWARD, target);
        bool[] memory expected = new bool[](target);
        uint256 count = settleSlots(wide, first, expected);
        count += settleSlots(wide, second, expected);

        for (uint256 slot = 0; slot < target; ++slot) {
            vm.assertEq(factory.isPaid(wide, slot), expected[slot]);
            vm.assertEq(usdc.balanceOf(contributor(slot)), expected[slot] ? REWARD : 0);
        }
        vm.assertEq(factory.missions(wide).paidCount, count);
        assertMissionSum(wide, 0);
    }

    /// @return count How many slots are new.
    function settleSlots(bytes32 wide, uint16[] calldata slots, bool[] memory expected)
        private
        returns (uint256 count)
    {
        IMissionFactory.Payment[] memory payments = new IMissionFactory.Payment[](slots.length);
        for (uint256 i = 0; i < slots.length; ++i) {
            uint256 slot = slots[i] % expected.length;
            payments[i] = payment(slot, contributor(slot));
            if (!expected[slot]) ++count;
            expected[slot] = true;
        }
        settle(wide, payments);
    }

    // -------------------------------------------------------------------------------------------------------- refusals

    function test_settle_slotAtTarget_reverts() public {
        settleReverts(
            missionKey,
            single(TARGET, stranger),
            abi.encodeWithSelector(IMissionFactory.SlotOutOfRange.selector, TARGET, TARGET)
        );
    }

    function test_settle_overTargetBatch_reverts() public {
        settleReverts(
            missionKey,
            paymentsFrom(0, TARGET + 1),
            abi.encodeWithSelector(IMissionFactory.SlotOutOfRange.selector, TARGET, TARGET)
        );
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
        vm.assertFalse(factory.isPaid(missionKey, 0));
    }

    function test_settle_zeroRecipient_reverts() public {
        recipientReverts(address(0));
    }

    function test_settle_factoryAsRecipient_reverts() public {
        recipientReverts(address(factory));
    }

    function test_settle_tokenAsRecipient_reverts() public {
        recipientReverts(address(usdc));
    }

    function test_settle_otherTokenAsRecipient_reverts() public {
        recipientReverts(address(serviceToken));
    }

    /// @dev With a valid payment first, so that the whole batch reverts with the invalid one.
    function recipientReverts(address recipient) private {
        settleReverts(
            missionKey,
            batch(payment(0, stranger), payment(1, recipient)),
            abi.encodeWithSelector(IMissionFactory.InvalidRecipient.selector, 1, recipient)
        );
        vm.assertEq(usdc.balanceOf(stranger), 0);
    }

    function test_settle_unknownMission_reverts() public {
        bytes32 unknown = keccak256("never funded");
        settleReverts(
            unknown, paymentsFrom(0, 1), abi.encodeWithSelector(IMissionFactory.UnknownMission.selector, unknown)
        );
    }

    function test_settle_afterClose_reverts() public {
        settle(missionKey, paymentsFrom(0, 1));
        close(missionKey, 1);
        settleReverts(missionKey, paymentsFrom(1, 1), alreadyClosed(missionKey, IMissionFactory.CloseReason.Closed));
        settleReverts(missionKey, paymentsFrom(0, 1), alreadyClosed(missionKey, IMissionFactory.CloseReason.Closed));
    }

    /// @dev Money of other missions must not move.
    function test_settle_afterReclaim_reverts() public {
        fund("mission-2", address(usdc), REWARD, TARGET);
        vm.warp(NOW + RECLAIM_DELAY);
        vm.prank(creator);
        factory.reclaim(missionKey);
        settleReverts(missionKey, paymentsFrom(0, 1), alreadyClosed(missionKey, IMissionFactory.CloseReason.Reclaimed));
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
    }

    function test_settle_paused_reverts() public {
        pauseFactory();
        settleReverts(missionKey, paymentsFrom(0, 1), abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        vm.prank(admin);
        factory.unpause();
        settle(missionKey, paymentsFrom(0, 1));
    }
}
