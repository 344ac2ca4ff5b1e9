// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MissionFactory} from "../src/MissionFactory.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev The factory's digests, some of them packed by hand, against EIP-712 written out plainly.
contract EncodingTest is Fixture {
    bytes32 private constant PAYMENT_TYPE = keccak256("Payment(uint24 slot,address recipient,bytes32 submissionKey)");

    function testFuzz_hashAuthorization(IMissionFactory.MissionAuthorization calldata sent) public view {
        bytes32 structHash = keccak256(
            abi.encode(
                keccak256(
                    "MissionAuthorization(string missionId,address token,uint256 rewardPerSubmission,uint256 targetCount,address creator,bytes32 nonce,uint256 deadline)"
                ),
                keccak256(bytes(sent.missionId)),
                sent.token,
                sent.rewardPerSubmission,
                sent.targetCount,
                sent.creator,
                sent.nonce,
                sent.deadline
            )
        );
        vm.assertEq(factory.hashAuthorization(sent), digest(address(factory), structHash));
    }

    function testFuzz_hashSettlement(bytes32 missionKey, IMissionFactory.Payment[] calldata payments) public view {
        vm.assertEq(
            factory.hashSettlement(missionKey, payments), digest(address(factory), settlement(missionKey, payments))
        );
    }

    function test_hashSettlement_empty() public view {
        IMissionFactory.Payment[] memory none = new IMissionFactory.Payment[](0);
        vm.assertEq(factory.hashSettlement(bytes32(0), none), digest(address(factory), settlement(bytes32(0), none)));
    }

    function test_hashSettlement_ofAThousand() public view {
        IMissionFactory.Payment[] memory many = paymentsFrom(0, 1000);
        vm.assertEq(factory.hashSettlement(bytes32(0), many), digest(address(factory), settlement(bytes32(0), many)));
    }

    function testFuzz_hashClose(bytes32 missionKey, uint256 paidCount) public view {
        bytes32 structHash =
            keccak256(abi.encode(keccak256("Close(bytes32 missionKey,uint256 paidCount)"), missionKey, paidCount));
        vm.assertEq(factory.hashClose(missionKey, paidCount), digest(address(factory), structHash));
    }

    /// @dev The domain is where the code runs, not where it was deployed: a fork of the chain has other digests.
    function testFuzz_hashClose_followsChainAndAddress(uint64 chainId, uint160 place) public {
        address elsewhere = address(uint160(uint256(keccak256(abi.encode(place)))));
        vm.chainId(chainId);
        vm.etch(elsewhere, address(factory).code);
        bytes32 structHash =
            keccak256(abi.encode(keccak256("Close(bytes32 missionKey,uint256 paidCount)"), bytes32(0), uint256(1)));
        vm.assertEq(MissionFactory(elsewhere).hashClose(0, 1), digest(elsewhere, structHash));
        vm.assertEq(factory.hashClose(0, 1), digest(address(factory), structHash));
    }

    /// @dev A mission is read from storage as it was signed, with any neighbouring bits.
    function testFuzz_missions_keepsEveryField(uint96 reward, uint24 target, address owner, uint32 later) public {
        reward = reward == 0 ? 1 : reward;
        target = 1 + target % 100_000;
        vm.assume(uint160(owner) > 0xffff && owner.code.length == 0);
        vm.warp(NOW + later);
        IMissionFactory.MissionAuthorization memory sent = authorization(MISSION, address(usdc), reward, target);
        sent.creator = owner;
        bytes32 missionKey = fund(sent);
        settle(missionKey, paymentsFrom(target - 1, 1));

        IMissionFactory.Mission memory mission = factory.missions(missionKey);
        vm.assertEq(mission.creator, owner);
        vm.assertEq(mission.rewardPerSubmission, reward);
        vm.assertEq(mission.token, address(usdc));
        vm.assertEq(mission.targetCount, target);
        vm.assertEq(mission.paidCount, 1);
        vm.assertEq(mission.reclaimAfter, NOW + later + RECLAIM_DELAY);
        vm.assertEq(uint8(mission.closed), 0);
        vm.assertEq(factory.remaining(missionKey), uint256(reward) * (target - 1));
    }

    // ------------------------------------------------------------------------------------------------------- reference

    function settlement(bytes32 missionKey, IMissionFactory.Payment[] memory payments) private pure returns (bytes32) {
        bytes32[] memory hashes = new bytes32[](payments.length);
        for (uint256 i = 0; i < payments.length; ++i) {
            hashes[i] =
                keccak256(abi.encode(PAYMENT_TYPE, payments[i].slot, payments[i].recipient, payments[i].submissionKey));
        }
        return keccak256(
            abi.encode(
                keccak256(
                    "Settlement(bytes32 missionKey,Payment[] payments)Payment(uint24 slot,address recipient,bytes32 submissionKey)"
                ),
                missionKey,
                keccak256(abi.encodePacked(hashes))
            )
        );
    }

    function digest(address verifyingContract, bytes32 structHash) private view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("MissionFactory"),
                keccak256("1"),
                block.chainid,
                verifyingContract
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }
}
