// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {TestUSDC} from "../src/testing/TestUSDC.sol";
import {Fixture} from "./Fixture.sol";
import {HostileToken} from "./attackers/HostileToken.sol";

/// @dev A payout that the token refuses becomes a credit, and only the token can cause that.
contract SettleDeferralTest is Fixture {
    // -------------------------------------------------------------------------------------------------------- refusals

    function test_settle_denylistedRecipientIsCredited() public {
        bytes32 missionKey = fundMission();
        setDenylisted(contributor(1), true);
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, 3);
        bytes memory signature = signSettlement(missionKey, payments);

        vm.recordLogs();
        expectPaid(missionKey, payments[0], REWARD);
        expectDeferred(missionKey, payments[1], REWARD);
        expectPaid(missionKey, payments[2], REWARD);
        factory.settle(missionKey, payments, signature);

        vm.assertEq(factoryEvents(), 3);
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
        vm.assertEq(usdc.balanceOf(contributor(1)), 0);
        vm.assertEq(usdc.balanceOf(contributor(2)), REWARD);
        vm.assertEq(factory.deferred(address(usdc), contributor(1)), REWARD);
        vm.assertTrue(factory.isPaid(missionKey, 1));
        vm.assertEq(factory.missions(missionKey).paidCount, 3);
        vm.assertEq(usdc.balanceOf(address(factory)), factory.remaining(missionKey) + REWARD);
        assertMissionSum(missionKey, 0);
    }

    function test_settle_deferredSlotIsNotPaidAgain() public {
        bytes32 missionKey = fundMission();
        setDenylisted(stranger, true);
        settle(missionKey, single(0, stranger));
        setDenylisted(stranger, false);
        settle(missionKey, single(0, stranger));
        vm.assertEq(usdc.balanceOf(stranger), 0);
        vm.assertEq(factory.deferred(address(usdc), stranger), REWARD);
    }

    function test_settle_creditsAddUp() public {
        bytes32 missionKey = fundMission();
        bytes32 other = fund("mission-2", address(usdc), 7, TARGET);
        setDenylisted(stranger, true);
        settle(missionKey, batch(payment(0, stranger), payment(1, stranger)));
        settle(other, single(0, stranger));
        vm.assertEq(factory.deferred(address(usdc), stranger), 2 * REWARD + 7);
        vm.assertEq(factory.deferred(address(serviceToken), stranger), 0);
    }

    function test_settle_pausedTokenCreditsAll() public {
        bytes32 missionKey = fundMission();
        pauseToken();
        settle(missionKey, paymentsFrom(0, TARGET));
        for (uint256 slot = 0; slot < TARGET; ++slot) {
            vm.assertEq(factory.deferred(address(usdc), contributor(slot)), REWARD);
        }
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
    }

    function test_settle_denylistedFactoryCreditsAll() public {
        bytes32 missionKey = fundMission();
        setDenylisted(address(factory), true);
        settle(missionKey, paymentsFrom(0, 1));
        vm.assertEq(factory.deferred(address(usdc), contributor(0)), REWARD);
    }

    // --------------------------------------------------------------------------------------------------- claimDeferred

    function test_claimDeferred_paysTheAccount() public {
        bytes32 missionKey = fundMission();
        setDenylisted(contributor(0), true);
        settle(missionKey, paymentsFrom(0, 1));
        setDenylisted(contributor(0), false);

        vm.recordLogs();
        vm.expectEmit(address(factory));
        emit IMissionFactory.DeferredClaimed(address(usdc), contributor(0), REWARD);
        vm.prank(stranger);
        factory.claimDeferred(address(usdc), contributor(0));

        vm.assertEq(factoryEvents(), 1);
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
        vm.assertEq(usdc.balanceOf(stranger), 0);
        vm.assertEq(factory.deferred(address(usdc), contributor(0)), 0);
        vm.assertEq(usdc.balanceOf(address(factory)), factory.remaining(missionKey));
    }

    function test_claimDeferred_paused() public {
        bytes32 missionKey = fundMission();
        pauseToken();
        settle(missionKey, paymentsFrom(0, 1));
        unpauseToken();
        pauseFactory();
        factory.claimDeferred(address(usdc), contributor(0));
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
    }

    function test_claimDeferred_twice_reverts() public {
        bytes32 missionKey = fundMission();
        pauseToken();
        settle(missionKey, paymentsFrom(0, 2));
        unpauseToken();
        factory.claimDeferred(address(usdc), contributor(0));
        nothingDeferred(address(usdc), contributor(0));
        vm.assertEq(factory.deferred(address(usdc), contributor(1)), REWARD);
    }

    function test_claimDeferred_nothingThere_reverts() public {
        fundMission();
        nothingDeferred(address(usdc), creator);
    }

    /// @dev The credit is in one token; no other token can be claimed for it.
    function test_claimDeferred_inAnotherToken_reverts() public {
        bytes32 missionKey = fundMission();
        fund("mission-2", address(serviceToken), REWARD, TARGET);
        pauseToken();
        settle(missionKey, paymentsFrom(0, 1));
        nothingDeferred(address(serviceToken), contributor(0));
        nothingDeferred(stranger, contributor(0));
    }

    function nothingDeferred(address token, address account) private {
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NothingDeferred.selector, token, account));
        factory.claimDeferred(token, account);
    }

    function test_claimDeferred_stillDenylisted_reverts() public {
        bytes32 missionKey = fundMission();
        setDenylisted(stranger, true);
        settle(missionKey, single(0, stranger));
        vm.expectRevert(abi.encodeWithSelector(TestUSDC.Denylisted.selector, stranger));
        factory.claimDeferred(address(usdc), stranger);
        vm.assertEq(factory.deferred(address(usdc), stranger), REWARD);
    }

    function test_claimDeferred_tokenStillPaused_reverts() public {
        bytes32 missionKey = fundMission();
        pauseToken();
        settle(missionKey, paymentsFrom(0, 1));
        vm.expectRevert(abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        factory.claimDeferred(address(usdc), contributor(0));
        vm.assertEq(factory.deferred(address(usdc), contributor(0)), REWARD);
    }

    function test_claimDeferred_afterTheMissionIsClosed() public {
        bytes32 missionKey = fundMission();
        setDenylisted(contributor(0), true);
        settle(missionKey, paymentsFrom(0, 1));
        close(missionKey, 1);
        setDenylisted(contributor(0), false);
        factory.claimDeferred(address(usdc), contributor(0));
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
        vm.assertEq(usdc.balanceOf(address(factory)), 0);
    }

    // -------------------------------------------------------------------------------------------------- hostile tokens

    function hostileMission(HostileToken.Mood mood) private returns (HostileToken token, bytes32 missionKey) {
        token = new HostileToken(issuer);
        useAsServiceToken(address(token));
        missionKey = fund(MISSION, address(token), REWARD, TARGET);
        token.setMood(mood);
    }

    function test_settle_tokenReturnsFalseIsCredited() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.ReturnsFalse);
        settle(missionKey, paymentsFrom(0, 2));
        vm.assertEq(factory.deferred(address(token), contributor(0)), REWARD);
        vm.assertEq(factory.deferred(address(token), contributor(1)), REWARD);

        token.setMood(HostileToken.Mood.Honest);
        factory.claimDeferred(address(token), contributor(0));
        vm.assertEq(token.balanceOf(contributor(0)), REWARD);
    }

    function test_settle_tokenReturnsNothingIsPaid() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.ReturnsNothing);
        settle(missionKey, paymentsFrom(0, 1));
        vm.assertEq(token.balanceOf(contributor(0)), REWARD);
        vm.assertEq(factory.deferred(address(token), contributor(0)), 0);
    }

    /// @dev A revert reason of a hundred kilobytes does not cost the batch.
    function test_settle_tokenRevertsAtLengthIsCredited() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.RevertsAtLength);
        settle(missionKey, paymentsFrom(0, 2));
        vm.assertEq(factory.deferred(address(token), contributor(0)), REWARD);
        vm.assertEq(factory.deferred(address(token), contributor(1)), REWARD);
    }

    /// @dev Accepted cost of the gas rule: such a token cannot be distinguished from a starved call.
    function test_settle_tokenBurnsAllGas_reverts() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.BurnsAllGas);
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, 1);
        bytes memory signature = signSettlement(missionKey, payments);
        vm.expectPartialRevert(IMissionFactory.TooLittleGas.selector);
        factory.settle{gas: 10_000_000}(missionKey, payments, signature);

        token.setMood(HostileToken.Mood.Honest);
        factory.settle(missionKey, payments, signature);
        vm.assertEq(token.balanceOf(contributor(0)), REWARD);
    }

    // -------------------------------------------------------------------------------------------------- starved of gas

    /// @dev The result of a call with a gas limit, returned from a frame that reverts it.
    error Probed(bool success, bytes result, uint256[3] paid, uint256[3] credited);

    /// @dev Sends the settlement with this gas limit, reports what three contributors got, and reverts everything.
    function probe(bytes calldata settlement, address token, uint256 gas) external {
        (bool success, bytes memory result) = address(factory).call{gas: gas}(settlement);
        uint256[3] memory paid;
        uint256[3] memory credited;
        for (uint256 i = 0; i < 3; ++i) {
            paid[i] = TestUSDC(token).balanceOf(contributor(i));
            credited[i] = factory.deferred(token, contributor(i));
        }
        revert Probed(success, result, paid, credited);
    }

    /// @dev For every gas limit of the scan: the call fails, or exactly the contributors the token refuses are credited
    /// and the others are paid. Both must come up, or the scan looked in the wrong place.
    function scan(bytes32 missionKey, address token, uint256 count, bool[3] memory refused, uint256[3] memory range)
        private
    {
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, count);
        bytes memory settlement =
            abi.encodeCall(factory.settle, (missionKey, payments, signSettlement(missionKey, payments)));
        uint256 succeeded;
        uint256 failed;
        for (uint256 gas = range[0]; gas <= range[1]; gas += range[2]) {
            (bool success,, uint256[3] memory paid, uint256[3] memory credited) = probed(settlement, token, gas);
            success ? ++succeeded : ++failed;
            for (uint256 i = 0; i < 3; ++i) {
                uint256 due = success && i < count ? REWARD : 0;
                vm.assertEq(paid[i], refused[i] ? 0 : due, "paid");
                vm.assertEq(credited[i], refused[i] ? due : 0, "credited");
            }
        }
        vm.assertGt(succeeded, 10);
        vm.assertGt(failed, 10);
    }

    function probed(bytes memory settlement, address token, uint256 gas)
        private
        returns (bool, bytes memory, uint256[3] memory, uint256[3] memory)
    {
        try this.probe(settlement, token, gas) {
            revert("a probe always reverts");
        } catch (bytes memory reason) {
            assembly ("memory-safe") {
                // Drop the selector: what follows is the encoding of the error's arguments.
                let length := sub(mload(reason), 4)
                reason := add(reason, 4)
                mstore(reason, length)
            }
            return abi.decode(reason, (bool, bytes, uint256[3], uint256[3]));
        }
    }

    function test_settle_starvedRelay_paysOrReverts() public {
        bytes32 missionKey = fundMission();
        scan(missionKey, address(usdc), 1, [false, false, false], [uint256(20_000), 160_000, 47]);
    }

    function test_settle_starvedRelayOfABatch_paysOrReverts() public {
        bytes32 missionKey = fundMission();
        setDenylisted(contributor(1), true);
        scan(missionKey, address(usdc), 3, [false, true, false], [uint256(60_000), 260_000, 97]);
    }

    /// @dev Here starving would work: what the factory keeps of an exhausted call is enough to write the credit.
    function test_settle_starvedRelayOfAHeavyToken_paysOrReverts() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.WorksHard);
        uint256 work = token.HARD_WORK();
        scan(missionKey, address(token), 1, [false, false, false], [work / 2, 3 * work / 2, work / 50]);
    }

    function test_settle_starvedRelayOfAHeavyBatch_paysOrReverts() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.WorksHard);
        uint256 work = token.HARD_WORK();
        scan(missionKey, address(token), 3, [false, false, false], [work, 5 * work, work / 10]);
    }

    function test_settle_tooLittleGas_reverts() public {
        (HostileToken token, bytes32 missionKey) = hostileMission(HostileToken.Mood.WorksHard);
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, 1);
        bytes memory signature = signSettlement(missionKey, payments);
        uint256 tooLittle = token.HARD_WORK();
        vm.expectPartialRevert(IMissionFactory.TooLittleGas.selector);
        factory.settle{gas: tooLittle}(missionKey, payments, signature);
    }
}
