// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAccessControl} from "@openzeppelin/contracts/access/IAccessControl.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {ServiceToken} from "../src/ServiceToken.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Base, Vm} from "./Base.t.sol";

/// @dev What the attack tests share: one mission's usual terms, calls that must be refused for exactly one reason, and
/// signatures bent in the ways a stranger could bend them.
///
/// A refused call is always prepared so that it would go through but for the one thing under test.
abstract contract Fixture is Base {
    string internal constant MISSION = "mission-1";
    uint256 internal constant REWARD = 2_500_000;
    uint256 internal constant TARGET = 4;

    /// @dev Order of secp256k1.
    uint256 private constant N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141;

    // --------------------------------------------------------------------------------------------------- usual mission

    function terms() internal view returns (IMissionFactory.MissionAuthorization memory) {
        return authorization(MISSION, address(usdc), REWARD, TARGET);
    }

    function fundMission() internal returns (bytes32 missionKey) {
        return fund(terms());
    }

    /// @dev Replaces the service token by a hostile token, in a new factory. `issuer` must hold its supply.
    function useAsServiceToken(address token) internal {
        serviceToken = ServiceToken(token);
        factory = deployFactory(token, address(usdc));
    }

    function batch(IMissionFactory.Payment memory first, IMissionFactory.Payment memory second)
        internal
        pure
        returns (IMissionFactory.Payment[] memory list)
    {
        list = new IMissionFactory.Payment[](2);
        list[0] = first;
        list[1] = second;
    }

    function pauseFactory() internal {
        vm.prank(pauser);
        factory.pause();
    }

    function pauseToken() internal {
        vm.prank(issuer);
        usdc.pause();
    }

    function unpauseToken() internal {
        vm.prank(issuer);
        usdc.unpause();
    }

    function setDenylisted(address account, bool listed) internal {
        vm.prank(issuer);
        usdc.setDenylisted(account, listed);
    }

    // --------------------------------------------------------------------------------------------------- refused calls

    function createReverts(
        IMissionFactory.MissionAuthorization memory sent,
        bytes memory signature,
        bytes memory reason
    ) internal {
        vm.expectRevert(reason);
        vm.prank(sent.creator);
        factory.createAuthorizedFundedMission(sent, signature);
    }

    /// @dev As above, properly signed and prepared.
    function createReverts(IMissionFactory.MissionAuthorization memory sent, bytes memory reason) internal {
        createReverts(sent, signAuthorization(AUTHORIZER_KEY, sent), reason);
    }

    function settleReverts(
        bytes32 missionKey,
        IMissionFactory.Payment[] memory payments,
        bytes memory signature,
        bytes memory reason
    ) internal {
        vm.expectRevert(reason);
        factory.settle(missionKey, payments, signature);
    }

    function settleReverts(bytes32 missionKey, IMissionFactory.Payment[] memory payments, bytes memory reason)
        internal
    {
        settleReverts(missionKey, payments, signSettlement(missionKey, payments), reason);
    }

    function closeReverts(bytes32 missionKey, uint256 paidCount, bytes memory signature, bytes memory reason) internal {
        vm.expectRevert(reason);
        factory.close(missionKey, paidCount, signature);
    }

    function closeReverts(bytes32 missionKey, uint256 paidCount, bytes memory reason) internal {
        closeReverts(missionKey, paidCount, signClose(missionKey, paidCount), reason);
    }

    function reclaimReverts(address sender, bytes32 missionKey, bytes memory reason) internal {
        vm.expectRevert(reason);
        vm.prank(sender);
        factory.reclaim(missionKey);
    }

    // --------------------------------------------------------------------------------------------------------- reasons

    /// @dev The refusal of a signature that was made over another digest: it recovers to some other address.
    function wrongAuthorizer(bytes32 digest, bytes memory signature) internal view returns (bytes memory) {
        return unauthorized(recover(digest, signature), factory.AUTHORIZER_ROLE());
    }

    function wrongSettler(bytes32 digest, bytes memory signature) internal view returns (bytes memory) {
        return unauthorized(recover(digest, signature), factory.SETTLER_ROLE());
    }

    function unauthorized(address signer, bytes32 role) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IMissionFactory.UnauthorizedSigner.selector, signer, role);
    }

    function malformedS(bytes32 s) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ECDSA.ECDSAInvalidSignatureS.selector, s);
    }

    function malformedLength(uint256 length) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ECDSA.ECDSAInvalidSignatureLength.selector, length);
    }

    /// @dev ecrecover's own refusal.
    function unrecoverable() internal pure returns (bytes memory) {
        return abi.encodeWithSelector(ECDSA.ECDSAInvalidSignature.selector);
    }

    function alreadyClosed(bytes32 missionKey, IMissionFactory.CloseReason how) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IMissionFactory.MissionAlreadyClosed.selector, missionKey, how);
    }

    function lacksRole(address account, bytes32 role) internal pure returns (bytes memory) {
        return abi.encodeWithSelector(IAccessControl.AccessControlUnauthorizedAccount.selector, account, role);
    }

    // ------------------------------------------------------------------------------------------------------ signatures

    function split(bytes memory signature) internal pure returns (bytes32 r, bytes32 s, uint8 v) {
        v = uint8(signature[64]);
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
        }
    }

    function recover(bytes32 digest, bytes memory signature) internal pure returns (address) {
        (bytes32 r, bytes32 s, uint8 v) = split(signature);
        return ecrecover(digest, v, r, s);
    }

    /// @dev The other signature that ecrecover accepts for the same digest and signer.
    function highS(bytes memory signature) internal pure returns (bytes memory twisted, bytes32 s) {
        (bytes32 r, bytes32 low, uint8 v) = split(signature);
        s = bytes32(N - uint256(low));
        twisted = abi.encodePacked(r, s, v == 27 ? uint8(28) : uint8(27));
    }

    /// @dev ERC-2098: 64 bytes, with v in the top bit of s.
    function compact(bytes memory signature) internal pure returns (bytes memory) {
        (bytes32 r, bytes32 s, uint8 v) = split(signature);
        return abi.encodePacked(r, bytes32(uint256(s) | (uint256(v - 27) << 255)));
    }

    /// @dev With v 0 or 1, as many libraries return it.
    function rawV(bytes memory signature) internal pure returns (bytes memory) {
        (bytes32 r, bytes32 s, uint8 v) = split(signature);
        return abi.encodePacked(r, s, v - 27);
    }

    // ---------------------------------------------------------------------------------------------------------- events

    function expectFunded(IMissionFactory.MissionAuthorization memory sent) internal {
        vm.expectEmit(address(factory));
        emit IMissionFactory.MissionFunded(
            keccak256(bytes(sent.missionId)),
            sent.creator,
            sent.token,
            sent.missionId,
            sent.rewardPerSubmission,
            sent.targetCount,
            sent.nonce,
            block.timestamp + RECLAIM_DELAY
        );
    }

    function expectPaid(bytes32 missionKey, IMissionFactory.Payment memory paid, uint256 amount) internal {
        vm.expectEmit(address(factory));
        emit IMissionFactory.SubmissionPaid(missionKey, paid.submissionKey, paid.recipient, paid.slot, amount);
    }

    function expectDeferred(bytes32 missionKey, IMissionFactory.Payment memory paid, uint256 amount) internal {
        vm.expectEmit(address(factory));
        emit IMissionFactory.PayoutDeferred(missionKey, paid.submissionKey, paid.recipient, paid.slot, amount);
    }

    function expectClosed(bytes32 missionKey, uint256 refund, bool isDeferred, IMissionFactory.CloseReason how)
        internal
    {
        vm.expectEmit(address(factory));
        emit IMissionFactory.MissionClosed(missionKey, refund, isDeferred, how);
    }

    /// @dev How many events the factory has emitted since `vm.recordLogs()`: what must not be emitted is counted here.
    function factoryEvents() internal returns (uint256 count) {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter == address(factory)) ++count;
        }
    }

    // ------------------------------------------------------------------------------------------------------------ sums

    /// @dev The first sum of the specification, for one mission; `refund` is what it paid back, if it has ended.
    function assertMissionSum(bytes32 missionKey, uint256 refund) internal view {
        IMissionFactory.Mission memory mission = factory.missions(missionKey);
        uint256 reward = mission.rewardPerSubmission;
        vm.assertEq(reward * mission.targetCount, reward * mission.paidCount + factory.remaining(missionKey) + refund);
    }
}
