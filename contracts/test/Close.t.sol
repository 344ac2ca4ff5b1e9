// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {TestUSDC} from "../src/testing/TestUSDC.sol";
import {Fixture} from "./Fixture.sol";
import {HostileToken} from "./attackers/HostileToken.sol";

/// @dev The two ends of a mission: `close` on the SETTLER's signature and `reclaim` by the creator.
contract CloseTest is Fixture {
    bytes32 private missionKey;

    function setUp() public override {
        super.setUp();
        missionKey = fundMission();
    }

    // ----------------------------------------------------------------------------------------------------------- close

    function test_close_refundsTheRest() public {
        settle(missionKey, paymentsFrom(0, 1));
        bytes memory signature = signClose(missionKey, 1);

        vm.recordLogs();
        expectClosed(missionKey, 3 * REWARD, false, IMissionFactory.CloseReason.Closed);
        vm.prank(stranger);
        factory.close(missionKey, 1, signature);

        vm.assertEq(factoryEvents(), 1);
        vm.assertEq(usdc.balanceOf(creator), 3 * REWARD);
        vm.assertEq(usdc.balanceOf(stranger), 0);
        assertEnded(1, 3 * REWARD, IMissionFactory.CloseReason.Closed);
    }

    function test_close_rejectedMissionRefundsAll() public {
        expectClosedAndClose(0, REWARD * TARGET, false);
        vm.assertEq(usdc.balanceOf(creator), REWARD * TARGET);
        assertEnded(0, REWARD * TARGET, IMissionFactory.CloseReason.Closed);
    }

    function test_close_fullyPaidMissionTransfersNothing() public {
        settle(missionKey, paymentsFrom(0, TARGET));
        vm.expectCall(address(usdc), abi.encodeWithSelector(usdc.transfer.selector), 0);
        expectClosedAndClose(TARGET, 0, false);
        assertEnded(TARGET, 0, IMissionFactory.CloseReason.Closed);
    }

    /// @dev Money of other missions, donations and credits stay.
    function test_close_takesNothingOfOthers() public {
        bytes32 other = fund("mission-2", address(usdc), REWARD, TARGET);
        give(address(usdc), address(factory), 77);
        setDenylisted(contributor(0), true);
        settle(missionKey, paymentsFrom(0, 1));
        close(missionKey, 1);
        vm.assertEq(usdc.balanceOf(creator), 3 * REWARD);
        vm.assertEq(usdc.balanceOf(address(factory)), factory.remaining(other) + REWARD + 77);
    }

    function test_close_denylistedCreatorIsCredited() public {
        setDenylisted(creator, true);
        expectClosedAndClose(0, REWARD * TARGET, true);
        vm.assertEq(factory.deferred(address(usdc), creator), REWARD * TARGET);
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
        assertMissionSum(missionKey, REWARD * TARGET);

        setDenylisted(creator, false);
        factory.claimDeferred(address(usdc), creator);
        vm.assertEq(usdc.balanceOf(creator), REWARD * TARGET);
    }

    function test_close_pausedTokenCreditsTheCreator() public {
        pauseToken();
        expectClosedAndClose(0, REWARD * TARGET, true);
        vm.assertEq(factory.deferred(address(usdc), creator), REWARD * TARGET);
    }

    function expectClosedAndClose(uint256 paidCount, uint256 refund, bool isDeferred) private {
        bytes memory signature = signClose(missionKey, paidCount);
        expectClosed(missionKey, refund, isDeferred, IMissionFactory.CloseReason.Closed);
        factory.close(missionKey, paidCount, signature);
    }

    function assertEnded(uint256 paidCount, uint256 refund, IMissionFactory.CloseReason how) private view {
        vm.assertEq(factory.missions(missionKey).paidCount, paidCount);
        vm.assertEq(uint8(factory.missions(missionKey).closed), uint8(how));
        vm.assertEq(factory.remaining(missionKey), 0);
        vm.assertEq(usdc.balanceOf(address(factory)), 0);
        assertMissionSum(missionKey, refund);
    }

    // -------------------------------------------------------------------------------------------------- close, refused

    function test_close_lowerPaidCount_reverts() public {
        settle(missionKey, paymentsFrom(0, 2));
        countReverts(1, 2);
    }

    function test_close_higherPaidCount_reverts() public {
        settle(missionKey, paymentsFrom(0, 2));
        countReverts(3, 2);
    }

    /// @dev 2^24 + 2 must not pass for 2.
    function test_close_paidCountThatWraps_reverts() public {
        settle(missionKey, paymentsFrom(0, 2));
        countReverts((1 << 24) + 2, 2);
    }

    function test_close_receiptRedeemedFirst_reverts() public {
        bytes memory early = signClose(missionKey, 0);
        settle(missionKey, single(0, stranger));
        closeReverts(
            missionKey, 0, early, abi.encodeWithSelector(IMissionFactory.PaidCountMismatch.selector, missionKey, 0, 1)
        );
        close(missionKey, 1);
        assertEnded(1, 3 * REWARD, IMissionFactory.CloseReason.Closed);
    }

    function countReverts(uint256 signed, uint256 actual) private {
        closeReverts(
            missionKey,
            signed,
            abi.encodeWithSelector(IMissionFactory.PaidCountMismatch.selector, missionKey, signed, actual)
        );
    }

    function test_close_alteredPaidCount_reverts() public {
        bytes memory signature = signClose(missionKey, 1);
        closeReverts(missionKey, 0, signature, wrongSettler(factory.hashClose(missionKey, 0), signature));
    }

    function test_close_anotherMissionsSignature_reverts() public {
        bytes32 other = fund("mission-2", address(usdc), REWARD, TARGET);
        bytes memory signature = signClose(missionKey, 0);
        closeReverts(other, 0, signature, wrongSettler(factory.hashClose(other, 0), signature));
    }

    function test_close_withTheSignatureOfASettlement_reverts() public {
        bytes memory signature = signSettlement(missionKey, paymentsFrom(0, 1));
        closeReverts(missionKey, 0, signature, wrongSettler(factory.hashClose(missionKey, 0), signature));
    }

    function test_close_signedByCreator_reverts() public {
        signerReverts(CREATOR_KEY, creator);
    }

    function test_close_signedByAuthorizer_reverts() public {
        signerReverts(AUTHORIZER_KEY, authorizer);
    }

    function test_close_signedByAdmin_reverts() public {
        signerReverts(uint256(keccak256("admin")), admin);
    }

    function signerReverts(uint256 key, address signer) private {
        bytes memory signature = sign(key, factory.hashClose(missionKey, 0));
        closeReverts(missionKey, 0, signature, unauthorized(signer, factory.SETTLER_ROLE()));
    }

    function test_close_highS_reverts() public {
        (bytes memory twisted, bytes32 s) = highS(signClose(missionKey, 0));
        closeReverts(missionKey, 0, twisted, malformedS(s));
    }

    function test_close_signatureOf64Bytes_reverts() public {
        closeReverts(missionKey, 0, compact(signClose(missionKey, 0)), malformedLength(64));
    }

    function test_close_allZeroSignature_reverts() public {
        closeReverts(missionKey, 0, new bytes(65), unrecoverable());
    }

    function test_close_onAnotherChain_reverts() public {
        bytes memory signature = signClose(missionKey, 0);
        uint256 home = block.chainid;
        vm.chainId(home + 1);
        closeReverts(missionKey, 0, signature, wrongSettler(factory.hashClose(missionKey, 0), signature));
        vm.chainId(home);
        factory.close(missionKey, 0, signature);
    }

    function test_close_onAnotherContract_reverts() public {
        bytes memory signature = signClose(missionKey, 0);
        factory = deployFactory(address(serviceToken), address(usdc));
        fundMission();
        closeReverts(missionKey, 0, signature, wrongSettler(factory.hashClose(missionKey, 0), signature));
    }

    function test_close_twice_reverts() public {
        fund("mission-2", address(usdc), REWARD, TARGET);
        close(missionKey, 0);
        closeReverts(missionKey, 0, alreadyClosed(missionKey, IMissionFactory.CloseReason.Closed));
        vm.assertEq(usdc.balanceOf(creator), REWARD * TARGET);
    }

    function test_close_afterReclaim_reverts() public {
        reclaimAtLast();
        closeReverts(missionKey, 0, alreadyClosed(missionKey, IMissionFactory.CloseReason.Reclaimed));
    }

    function test_close_unknownMission_reverts() public {
        bytes32 unknown = keccak256("never funded");
        closeReverts(unknown, 0, abi.encodeWithSelector(IMissionFactory.UnknownMission.selector, unknown));
    }

    function test_close_paused_reverts() public {
        pauseFactory();
        closeReverts(missionKey, 0, abi.encodeWithSelector(Pausable.EnforcedPause.selector));
    }

    // ------------------------------------------------------------------------------------------- close, starved of gas

    error Probed(bool success, uint256 refunded, uint256 credited);

    /// @dev Closes with this gas limit, reports what the creator got, and reverts everything.
    function probe(bytes calldata data, address token, uint256 gas) external {
        (bool success,) = address(factory).call{gas: gas}(data);
        revert Probed(success, TestUSDC(token).balanceOf(creator), factory.deferred(token, creator));
    }

    /// @dev For every gas limit of the scan: the call fails, or the creator has the refund, as money and not as credit.
    function scan(bytes32 key, address token, uint256[3] memory range) private {
        bytes memory data = abi.encodeCall(factory.close, (key, 0, signClose(key, 0)));
        uint256 succeeded;
        uint256 failed;
        for (uint256 gas = range[0]; gas <= range[1]; gas += range[2]) {
            try this.probe(data, token, gas) {
                revert("a probe always reverts");
            } catch (bytes memory reason) {
                bool success =
                    keccak256(reason) == keccak256(abi.encodeWithSelector(Probed.selector, true, REWARD * TARGET, 0));
                if (!success) vm.assertEq(reason, abi.encodeWithSelector(Probed.selector, false, 0, 0));
                success ? ++succeeded : ++failed;
            }
        }
        vm.assertGt(succeeded, 10);
        vm.assertGt(failed, 10);
    }

    function test_close_starvedRelay_refundsOrReverts() public {
        scan(missionKey, address(usdc), [uint256(20_000), 140_000, 47]);
    }

    function test_close_starvedRelayOfAHeavyToken_refundsOrReverts() public {
        HostileToken token = new HostileToken(issuer);
        useAsServiceToken(address(token));
        bytes32 key = fund(MISSION, address(token), REWARD, TARGET);
        token.setMood(HostileToken.Mood.WorksHard);
        uint256 work = token.HARD_WORK();
        scan(key, address(token), [work / 2, 3 * work / 2, work / 50]);
    }

    // --------------------------------------------------------------------------------------------------------- reclaim

    function reclaimAtLast() private {
        vm.warp(NOW + RECLAIM_DELAY);
        vm.prank(creator);
        factory.reclaim(missionKey);
    }

    function test_reclaim_refundsTheRest() public {
        settle(missionKey, paymentsFrom(0, 1));
        vm.warp(NOW + 180 days);
        vm.recordLogs();
        expectClosed(missionKey, 3 * REWARD, false, IMissionFactory.CloseReason.Reclaimed);
        vm.prank(creator);
        factory.reclaim(missionKey);
        vm.assertEq(factoryEvents(), 1);
        vm.assertEq(usdc.balanceOf(creator), 3 * REWARD);
        assertEnded(1, 3 * REWARD, IMissionFactory.CloseReason.Reclaimed);
    }

    function test_reclaim_paused() public {
        pauseFactory();
        reclaimAtLast();
        vm.assertEq(usdc.balanceOf(creator), REWARD * TARGET);
    }

    function test_reclaim_denylistedCreatorIsCredited() public {
        setDenylisted(creator, true);
        vm.warp(NOW + RECLAIM_DELAY);
        expectClosed(missionKey, REWARD * TARGET, true, IMissionFactory.CloseReason.Reclaimed);
        vm.prank(creator);
        factory.reclaim(missionKey);
        vm.assertEq(factory.deferred(address(usdc), creator), REWARD * TARGET);
    }

    function test_reclaim_aSecondEarly_reverts() public {
        vm.warp(NOW + RECLAIM_DELAY - 1);
        reclaimReverts(
            creator,
            missionKey,
            abi.encodeWithSelector(IMissionFactory.ReclaimTooEarly.selector, missionKey, NOW + RECLAIM_DELAY)
        );
    }

    function test_reclaim_byAnyoneElse_reverts() public {
        vm.warp(NOW + RECLAIM_DELAY);
        address[5] memory others = [stranger, admin, settler, authorizer, pauser];
        for (uint256 i = 0; i < others.length; ++i) {
            reclaimReverts(
                others[i], missionKey, abi.encodeWithSelector(IMissionFactory.NotCreator.selector, others[i], creator)
            );
        }
    }

    function test_reclaim_twice_reverts() public {
        fund("mission-2", address(usdc), REWARD, TARGET);
        reclaimAtLast();
        reclaimReverts(creator, missionKey, alreadyClosed(missionKey, IMissionFactory.CloseReason.Reclaimed));
        vm.assertEq(usdc.balanceOf(creator), REWARD * TARGET);
    }

    function test_reclaim_afterClose_reverts() public {
        fund("mission-2", address(usdc), REWARD, TARGET);
        close(missionKey, 0);
        vm.warp(NOW + RECLAIM_DELAY);
        reclaimReverts(creator, missionKey, alreadyClosed(missionKey, IMissionFactory.CloseReason.Closed));
    }

    function test_reclaim_unknownMission_reverts() public {
        bytes32 unknown = keccak256("never funded");
        reclaimReverts(creator, unknown, abi.encodeWithSelector(IMissionFactory.UnknownMission.selector, unknown));
    }
}
