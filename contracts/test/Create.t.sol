// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC20Errors} from "@openzeppelin/contracts/interfaces/draft-IERC6093.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {TestUSDC} from "../src/testing/TestUSDC.sol";
import {Fixture} from "./Fixture.sol";
import {HostileToken} from "./attackers/HostileToken.sol";

/// @dev Funding a mission: transfers, limits, and the behaviour of each token. Signatures and their
/// bound fields are in CreateSignature.t.sol.
contract CreateTest is Fixture {
    // ---------------------------------------------------------------------------------------------------- what it does

    function test_create_fundsTheMission() public {
        fundsTheMission(address(usdc), REWARD, TARGET);
    }

    function test_create_fundsTheMissionInServiceToken() public {
        fundsTheMission(address(serviceToken), 3e18, 250);
    }

    function fundsTheMission(address token, uint256 reward, uint256 target) private {
        IMissionFactory.MissionAuthorization memory sent = authorization(MISSION, token, reward, target);
        sent.nonce = keccak256("a nonce of its own");
        prepare(sent);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);

        vm.recordLogs();
        expectFunded(sent);
        vm.prank(creator);
        bytes32 missionKey = factory.createAuthorizedFundedMission(sent, signature);

        vm.assertEq(factoryEvents(), 1);
        vm.assertEq(missionKey, keccak256(bytes(MISSION)));
        IMissionFactory.Mission memory mission = factory.missions(missionKey);
        vm.assertEq(mission.creator, creator);
        vm.assertEq(mission.token, token);
        vm.assertEq(mission.rewardPerSubmission, reward);
        vm.assertEq(mission.targetCount, target);
        vm.assertEq(mission.paidCount, 0);
        vm.assertEq(mission.reclaimAfter, NOW + 180 days);
        vm.assertEq(uint8(mission.closed), uint8(IMissionFactory.CloseReason.None));
        vm.assertEq(factory.remaining(missionKey), reward * target);
        vm.assertEq(usdc.balanceOf(address(factory)), token == address(usdc) ? reward * target : 0);
        vm.assertEq(serviceToken.balanceOf(address(factory)), token == address(usdc) ? 0 : reward * target);
        vm.assertEq(usdc.balanceOf(creator) + serviceToken.balanceOf(creator), 0);
        vm.assertFalse(factory.isPaid(missionKey, 0));
        vm.assertFalse(factory.revoked(creator, sent.nonce));
    }

    function test_create_takesTheBudgetAndNoMore() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        uint256 budget = REWARD * TARGET;
        give(address(usdc), creator, 3 * budget);
        give(address(usdc), address(factory), 77);
        vm.prank(creator);
        usdc.approve(address(factory), 2 * budget);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);

        vm.prank(creator);
        factory.createAuthorizedFundedMission(sent, signature);

        vm.assertEq(usdc.balanceOf(creator), 2 * budget);
        vm.assertEq(usdc.allowance(creator, address(factory)), budget);
        vm.assertEq(usdc.balanceOf(address(factory)), budget + 77);
    }

    function test_missions_neverFunded_isAllZero() public view {
        IMissionFactory.Mission memory none = factory.missions(keccak256("never"));
        vm.assertEq(keccak256(abi.encode(none)), keccak256(new bytes(7 * 32)));
        vm.assertEq(factory.remaining(keccak256("never")), 0);
    }

    // ---------------------------------------------------------------------------------------------------------- limits

    function test_create_missionIdOf1And64Bytes() public {
        fund("m", address(usdc), REWARD, TARGET);
        fund(idOf(64), address(usdc), REWARD, TARGET);
    }

    function test_create_emptyMissionId_reverts() public {
        limitReverts("", REWARD, TARGET, abi.encodeWithSelector(IMissionFactory.InvalidMissionIdLength.selector, 0));
    }

    function test_create_missionIdOf65Bytes_reverts() public {
        limitReverts(
            idOf(65), REWARD, TARGET, abi.encodeWithSelector(IMissionFactory.InvalidMissionIdLength.selector, 65)
        );
    }

    function test_create_missionIdIsMeasuredInBytes() public {
        string memory thirtyTwoLetters = unicode"éééééééééééééééééééééééééééééééé";
        fund(thirtyTwoLetters, address(usdc), REWARD, TARGET);
        limitReverts(
            string.concat(thirtyTwoLetters, "e"),
            REWARD,
            TARGET,
            abi.encodeWithSelector(IMissionFactory.InvalidMissionIdLength.selector, 65)
        );
    }

    function test_create_rewardOf1AndOf96Bits() public {
        fund("least", address(usdc), 1, 1);
        bytes32 missionKey = fund("most", address(usdc), type(uint96).max, 100_000);
        vm.assertEq(factory.remaining(missionKey), uint256(type(uint96).max) * 100_000);
    }

    function test_create_rewardOf0_reverts() public {
        limitReverts(MISSION, 0, TARGET, abi.encodeWithSelector(IMissionFactory.InvalidReward.selector, 0));
    }

    function test_create_rewardOf97Bits_reverts() public {
        uint256 reward = uint256(type(uint96).max) + 1;
        limitReverts(MISSION, reward, TARGET, abi.encodeWithSelector(IMissionFactory.InvalidReward.selector, reward));
    }

    function test_create_rewardThatOverflowsTheBudget_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.rewardPerSubmission = type(uint256).max;
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.InvalidReward.selector, type(uint256).max));
    }

    function test_create_targetOf1And100000() public {
        fund("one", address(usdc), REWARD, 1);
        bytes32 missionKey = fund("many", address(usdc), REWARD, 100_000);
        vm.assertEq(factory.missions(missionKey).targetCount, 100_000);
    }

    function test_create_targetOf0_reverts() public {
        limitReverts(MISSION, REWARD, 0, abi.encodeWithSelector(IMissionFactory.InvalidTargetCount.selector, 0));
    }

    function test_create_targetOf100001_reverts() public {
        limitReverts(
            MISSION, REWARD, 100_001, abi.encodeWithSelector(IMissionFactory.InvalidTargetCount.selector, 100_001)
        );
    }

    /// @dev 2^24 + 4 would be stored as 4.
    function test_create_targetThatWraps_reverts() public {
        uint256 target = (1 << 24) + TARGET;
        limitReverts(
            MISSION, REWARD, target, abi.encodeWithSelector(IMissionFactory.InvalidTargetCount.selector, target)
        );
    }

    function idOf(uint256 length) private pure returns (string memory) {
        bytes memory id = new bytes(length);
        for (uint256 i = 0; i < length; ++i) {
            id[i] = "m";
        }
        return string(id);
    }

    function limitReverts(string memory missionId, uint256 reward, uint256 target, bytes memory reason) private {
        IMissionFactory.MissionAuthorization memory sent = authorization(missionId, address(usdc), reward, target);
        prepare(sent);
        createReverts(sent, reason);
    }

    // -------------------------------------------------------------------------------------------------------- deadline

    function test_create_atTheDeadline() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.deadline = NOW + 1 hours;
        vm.warp(NOW + 1 hours);
        fund(sent);
    }

    function test_create_expired_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.deadline = NOW + 1 hours;
        prepare(sent);
        vm.warp(NOW + 1 hours + 1);
        createReverts(
            sent,
            abi.encodeWithSelector(IMissionFactory.AuthorizationExpired.selector, NOW + 1 hours, NOW + 1 hours + 1)
        );
    }

    function test_create_deadlineADayAhead() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.deadline = NOW + 1 days;
        fund(sent);
    }

    function test_create_deadlineOverADayAhead_reverts() public {
        deadlineReverts(NOW + 1 days + 1);
    }

    function test_create_deadlineAtTheEndOfTime_reverts() public {
        deadlineReverts(type(uint256).max);
    }

    function deadlineReverts(uint256 deadline) private {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.deadline = deadline;
        prepare(sent);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.DeadlineTooFar.selector, deadline, NOW + 1 days));
    }

    // ---------------------------------------------------------------------------------------------------------- replay

    function test_create_twice_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        bytes32 missionKey = fund(sent);
        prepare(sent);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.MissionAlreadyFunded.selector, missionKey));
    }

    function test_create_sameIdOtherTerms_reverts() public {
        bytes32 missionKey = fundMission();
        IMissionFactory.MissionAuthorization memory sent =
            authorization(MISSION, address(serviceToken), 2 * REWARD, 2 * TARGET);
        sent.creator = stranger;
        sent.nonce = keccak256("other nonce");
        prepare(sent);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.MissionAlreadyFunded.selector, missionKey));
    }

    function test_create_afterClose_reverts() public {
        bytes32 missionKey = fundMission();
        close(missionKey, 0);
        prepare(terms());
        createReverts(terms(), abi.encodeWithSelector(IMissionFactory.MissionAlreadyFunded.selector, missionKey));
    }

    function test_create_afterReclaim_reverts() public {
        bytes32 missionKey = fundMission();
        vm.warp(NOW + RECLAIM_DELAY);
        vm.prank(creator);
        factory.reclaim(missionKey);
        prepare(terms());
        createReverts(terms(), abi.encodeWithSelector(IMissionFactory.MissionAlreadyFunded.selector, missionKey));
    }

    // -------------------------------------------------------------------------------------------------------- revoking

    function test_create_nonceRevokedByCreator_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        prepare(sent);
        vm.prank(creator);
        factory.revokeAuthorization(creator, sent.nonce);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.NonceRevoked.selector, creator, sent.nonce));
    }

    function test_create_nonceRevokedByAuthorizer_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        prepare(sent);
        vm.prank(authorizer);
        factory.revokeAuthorization(creator, sent.nonce);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.NonceRevoked.selector, creator, sent.nonce));
    }

    function test_create_everyQuoteOfARevokedDraft_reverts() public {
        vm.prank(creator);
        factory.revokeAuthorization(creator, terms().nonce);
        for (uint256 i = 1; i <= 3; ++i) {
            IMissionFactory.MissionAuthorization memory sent = terms();
            sent.missionId = string.concat(MISSION, "-", vm.toString(i));
            sent.deadline = NOW + i * 1 minutes;
            prepare(sent);
            createReverts(sent, abi.encodeWithSelector(IMissionFactory.NonceRevoked.selector, creator, sent.nonce));
        }
    }

    function test_create_othersAreNotRevoked() public {
        bytes32 nonce = terms().nonce;
        vm.prank(creator);
        factory.revokeAuthorization(creator, nonce);

        IMissionFactory.MissionAuthorization memory otherNonce = terms();
        otherNonce.nonce = keccak256("other nonce");
        fund(otherNonce);
        IMissionFactory.MissionAuthorization memory otherCreator = terms();
        otherCreator.missionId = "mission-2";
        otherCreator.creator = stranger;
        fund(otherCreator);
    }

    function test_revokeAuthorization_leavesFundedMissionsAlone() public {
        bytes32 missionKey = fundMission();
        bytes32 nonce = terms().nonce;
        vm.prank(creator);
        factory.revokeAuthorization(creator, nonce);
        settle(missionKey, paymentsFrom(0, TARGET));
        vm.assertEq(factory.missions(missionKey).paidCount, TARGET);
    }

    // ----------------------------------------------------------------------------------------------------------- token

    function test_create_unsupportedToken_reverts() public {
        HostileToken other = new HostileToken(creator);
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.token = address(other);
        vm.prank(creator);
        other.approve(address(factory), type(uint256).max);
        createReverts(sent, abi.encodeWithSelector(IMissionFactory.UnsupportedToken.selector, address(other)));
    }

    function test_create_feeOnTransfer_reverts() public {
        moodReverts(HostileToken.Mood.TakesFee, 990);
    }

    function test_create_bonusOnTransfer_reverts() public {
        moodReverts(HostileToken.Mood.GivesBonus, 1010);
    }

    function test_create_tokenMovesNothing_reverts() public {
        moodReverts(HostileToken.Mood.MovesNothing, 0);
    }

    function test_create_tokenReturnsFalse_reverts() public {
        (HostileToken token, IMissionFactory.MissionAuthorization memory sent) = hostileTerms();
        token.setMood(HostileToken.Mood.ReturnsFalse);
        createReverts(sent, abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(token)));
    }

    function test_create_tokenReturnsTwo_reverts() public {
        (HostileToken token, IMissionFactory.MissionAuthorization memory sent) = hostileTerms();
        token.setMood(HostileToken.Mood.ReturnsTwo);
        createReverts(sent, abi.encodeWithSelector(SafeERC20.SafeERC20FailedOperation.selector, address(token)));
    }

    function test_create_tokenReturnsNothing() public {
        (HostileToken token, IMissionFactory.MissionAuthorization memory sent) = hostileTerms();
        token.setMood(HostileToken.Mood.ReturnsNothing);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);
        vm.prank(creator);
        bytes32 missionKey = factory.createAuthorizedFundedMission(sent, signature);
        vm.assertEq(token.balanceOf(address(factory)), factory.remaining(missionKey));
    }

    function hostileTerms() private returns (HostileToken token, IMissionFactory.MissionAuthorization memory sent) {
        token = new HostileToken(issuer);
        useAsServiceToken(address(token));
        sent = authorization(MISSION, address(token), 100, 10);
        prepare(sent);
    }

    function moodReverts(HostileToken.Mood mood, uint256 received) private {
        (HostileToken token, IMissionFactory.MissionAuthorization memory sent) = hostileTerms();
        token.setMood(mood);
        createReverts(
            sent, abi.encodeWithSelector(IMissionFactory.InexactFunding.selector, address(token), 1000, received)
        );
        vm.assertEq(token.balanceOf(address(factory)), 0);
        vm.assertEq(factory.missions(keccak256(bytes(MISSION))).creator, address(0));
    }

    function test_create_noAllowance_reverts() public {
        give(address(usdc), creator, REWARD * TARGET);
        vm.prank(creator);
        usdc.approve(address(factory), REWARD * TARGET - 1);
        createReverts(
            terms(),
            abi.encodeWithSelector(
                IERC20Errors.ERC20InsufficientAllowance.selector, address(factory), REWARD * TARGET - 1, REWARD * TARGET
            )
        );
    }

    /// @dev The factory's existing balance, of other missions or of none, does not fund a mission.
    function test_create_noBalance_reverts() public {
        fund("mission-of-another", address(usdc), REWARD, TARGET);
        give(address(usdc), address(factory), REWARD * TARGET);
        vm.prank(creator);
        usdc.approve(address(factory), type(uint256).max);
        createReverts(
            terms(), abi.encodeWithSelector(IERC20Errors.ERC20InsufficientBalance.selector, creator, 0, REWARD * TARGET)
        );
    }

    function test_create_denylistedCreator_reverts() public {
        prepare(terms());
        setDenylisted(creator, true);
        createReverts(terms(), abi.encodeWithSelector(TestUSDC.Denylisted.selector, creator));
    }

    function test_create_denylistedFactory_reverts() public {
        prepare(terms());
        setDenylisted(address(factory), true);
        createReverts(terms(), abi.encodeWithSelector(TestUSDC.Denylisted.selector, address(factory)));
    }

    function test_create_pausedToken_reverts() public {
        prepare(terms());
        pauseToken();
        createReverts(terms(), abi.encodeWithSelector(Pausable.EnforcedPause.selector));
    }

    function test_create_paused_reverts() public {
        prepare(terms());
        pauseFactory();
        createReverts(terms(), abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        vm.prank(admin);
        factory.unpause();
        fund(terms());
    }
}
