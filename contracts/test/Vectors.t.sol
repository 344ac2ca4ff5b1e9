// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MissionFactory} from "../src/MissionFactory.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Base} from "./Base.t.sol";

/// @dev The contract computes the digests of spec/vectors.json: those that the Go and TypeScript code is held to.
contract VectorsTest is Base {
    string private json;
    address private service;

    /// @dev The vectors name their chain and the factory's address, so the factory is moved there.
    function setUp() public override {
        super.setUp();
        json = vm.readFile("../spec/vectors.json");
        service = vm.parseJsonAddress(json, ".keys.service.address");
        vm.chainId(vm.parseJsonUint(json, ".domain.chainId"));
        address expected = vm.parseJsonAddress(json, ".domain.verifyingContract");
        vm.etch(expected, address(factory).code);
        factory = MissionFactory(expected);
    }

    function test_hashAuthorization_isTheVectors() public view {
        bytes32 digest = factory.hashAuthorization(vectorAuthorization());
        vm.assertEq(digest, vm.parseJsonBytes32(json, ".authorization.digest"));
        vm.assertEq(recover(digest, ".authorization.signature"), service);
    }

    function test_createCalldata_isTheVectors() public view {
        bytes memory signature = vm.parseJsonBytes(json, ".authorization.signature");
        vm.assertEq(
            abi.encodeCall(factory.createAuthorizedFundedMission, (vectorAuthorization(), signature)),
            vm.parseJsonBytes(json, ".authorization.calldata")
        );
    }

    function test_hashSettlement_isTheVectors() public view {
        bytes32 digest = factory.hashSettlement(vm.parseJsonBytes32(json, ".settlement.missionKey"), vectorPayments());
        vm.assertEq(digest, vm.parseJsonBytes32(json, ".settlement.digest"));
        vm.assertEq(recover(digest, ".settlement.signature"), service);
    }

    function test_hashClose_isTheVectors() public view {
        bytes32 digest = factory.hashClose(
            vm.parseJsonBytes32(json, ".close.message.missionKey"), vm.parseJsonUint(json, ".close.message.paidCount")
        );
        vm.assertEq(digest, vm.parseJsonBytes32(json, ".close.digest"));
        vm.assertEq(recover(digest, ".close.signature"), service);
    }

    function test_eip712Domain_isTheVectors() public view {
        (bytes1 fields, string memory name, string memory version, uint256 chainId, address verifyingContract,,) =
            factory.eip712Domain();
        vm.assertEq(uint8(fields), 0x0f);
        vm.assertEq(name, vm.parseJsonString(json, ".domain.name"));
        vm.assertEq(version, vm.parseJsonString(json, ".domain.version"));
        vm.assertEq(chainId, vm.parseJsonUint(json, ".domain.chainId"));
        vm.assertEq(verifyingContract, vm.parseJsonAddress(json, ".domain.verifyingContract"));
    }

    function vectorAuthorization() private view returns (IMissionFactory.MissionAuthorization memory) {
        return IMissionFactory.MissionAuthorization({
            missionId: vm.parseJsonString(json, ".authorization.message.missionId"),
            token: vm.parseJsonAddress(json, ".authorization.message.token"),
            rewardPerSubmission: vm.parseJsonUint(json, ".authorization.message.rewardPerSubmission"),
            targetCount: vm.parseJsonUint(json, ".authorization.message.targetCount"),
            creator: vm.parseJsonAddress(json, ".authorization.message.creator"),
            nonce: vm.parseJsonBytes32(json, ".authorization.message.nonce"),
            deadline: vm.parseJsonUint(json, ".authorization.message.deadline")
        });
    }

    function vectorPayments() private view returns (IMissionFactory.Payment[] memory payments) {
        payments = new IMissionFactory.Payment[](2);
        payments[0] = vectorPayment(".settlement.payments[0]");
        payments[1] = vectorPayment(".settlement.payments[1]");
    }

    function vectorPayment(string memory path) private view returns (IMissionFactory.Payment memory) {
        return IMissionFactory.Payment({
            slot: uint24(vm.parseJsonUint(json, string.concat(path, ".slot"))),
            recipient: vm.parseJsonAddress(json, string.concat(path, ".recipient")),
            submissionKey: vm.parseJsonBytes32(json, string.concat(path, ".submissionKey"))
        });
    }

    function recover(bytes32 digest, string memory path) private view returns (address) {
        bytes memory signature = vm.parseJsonBytes(json, path);
        (bytes32 r, bytes32 s, uint8 v) = (bytes32(0), bytes32(0), uint8(signature[64]));
        assembly ("memory-safe") {
            r := mload(add(signature, 0x20))
            s := mload(add(signature, 0x40))
        }
        return ecrecover(digest, v, r, s);
    }
}
