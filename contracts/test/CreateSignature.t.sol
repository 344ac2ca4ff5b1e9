// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MissionFactory} from "../src/MissionFactory.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev A quote funds exactly the signed terms, by the signed creator, in the signed domain, or nothing.
contract CreateSignatureTest is Fixture {
    // ---------------------------------------------------------------------------------------------------- bound fields

    function test_create_alteredMissionId_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.missionId = "mission-2";
        alteredReverts(sent);
    }

    function test_create_alteredToken_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.token = address(serviceToken);
        alteredReverts(sent);
    }

    function test_create_alteredReward_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.rewardPerSubmission -= 1;
        alteredReverts(sent);
    }

    function test_create_alteredTarget_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.targetCount += 1;
        alteredReverts(sent);
    }

    /// @dev A thief replaces the quote's creator with itself and pays.
    function test_create_alteredCreator_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.creator = stranger;
        alteredReverts(sent);
    }

    function test_create_alteredNonce_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.nonce = keccak256("other nonce");
        alteredReverts(sent);
    }

    function test_create_alteredDeadline_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.deadline += 1;
        alteredReverts(sent);
    }

    /// @dev Reward and target are exchanged: the same budget, another mission.
    function test_create_alteredSplitOfTheBudget_reverts() public {
        IMissionFactory.MissionAuthorization memory sent = terms();
        sent.rewardPerSubmission = TARGET;
        sent.targetCount = REWARD / 100;
        IMissionFactory.MissionAuthorization memory signed = terms();
        signed.rewardPerSubmission = REWARD / 100;
        signed.targetCount = TARGET;
        alteredReverts(sent, signAuthorization(AUTHORIZER_KEY, signed));
    }

    function alteredReverts(IMissionFactory.MissionAuthorization memory sent) private {
        alteredReverts(sent, signAuthorization(AUTHORIZER_KEY, terms()));
    }

    function alteredReverts(IMissionFactory.MissionAuthorization memory sent, bytes memory signature) private {
        prepare(sent);
        createReverts(sent, signature, wrongAuthorizer(factory.hashAuthorization(sent), signature));
    }

    // ---------------------------------------------------------------------------------------------------------- sender

    function test_create_foreignSender_reverts() public {
        foreignSenderReverts(stranger, stranger);
    }

    /// @dev The creator's own transaction, but through another contract.
    function test_create_foreignSenderWithCreatorAsOrigin_reverts() public {
        foreignSenderReverts(stranger, creator);
    }

    function test_create_authorizerAsSender_reverts() public {
        foreignSenderReverts(authorizer, authorizer);
    }

    function foreignSenderReverts(address sender, address origin) private {
        prepare(terms());
        give(address(usdc), sender, REWARD * TARGET);
        vm.prank(sender);
        usdc.approve(address(factory), type(uint256).max);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms());
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NotCreator.selector, sender, creator));
        vm.prank(sender, origin);
        factory.createAuthorizedFundedMission(terms(), signature);
    }

    // ---------------------------------------------------------------------------------------------------------- signer

    function test_create_signedByStranger_reverts() public {
        signerReverts(STRANGER_KEY, stranger);
    }

    function test_create_signedByCreator_reverts() public {
        signerReverts(CREATOR_KEY, creator);
    }

    function test_create_signedBySettler_reverts() public {
        signerReverts(SETTLER_KEY, settler);
    }

    function test_create_signedByAdmin_reverts() public {
        signerReverts(uint256(keccak256("admin")), admin);
    }

    function test_create_signedByRevokedAuthorizer_reverts() public {
        bytes32 role = factory.AUTHORIZER_ROLE();
        vm.prank(admin);
        factory.revokeRole(role, authorizer);
        signerReverts(AUTHORIZER_KEY, authorizer);
    }

    function test_create_signedByNewAuthorizer() public {
        bytes32 role = factory.AUTHORIZER_ROLE();
        vm.prank(admin);
        factory.grantRole(role, stranger);
        prepare(terms());
        bytes memory signature = signAuthorization(STRANGER_KEY, terms());
        vm.prank(creator);
        factory.createAuthorizedFundedMission(terms(), signature);
    }

    function signerReverts(uint256 key, address signer) private {
        prepare(terms());
        createReverts(terms(), signAuthorization(key, terms()), unauthorized(signer, factory.AUTHORIZER_ROLE()));
    }

    // ----------------------------------------------------------------------------------------------------------- place

    function test_create_onAnotherChain_reverts() public {
        prepare(terms());
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms());
        uint256 home = block.chainid;
        vm.chainId(home + 1);
        createReverts(terms(), signature, wrongAuthorizer(factory.hashAuthorization(terms()), signature));

        vm.chainId(home);
        vm.prank(creator);
        factory.createAuthorizedFundedMission(terms(), signature);
    }

    function test_create_onAnotherContract_reverts() public {
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms());
        fundMission();
        MissionFactory first = factory;
        factory = deployFactory(address(serviceToken), address(usdc));
        prepare(terms());
        createReverts(terms(), signature, wrongAuthorizer(factory.hashAuthorization(terms()), signature));
        vm.assertNotEq(first.hashAuthorization(terms()), factory.hashAuthorization(terms()));
    }

    function test_create_withTheSignatureOfASettlement_reverts() public {
        IMissionFactory.Payment[] memory payments = paymentsFrom(0, 1);
        bytes memory signature = sign(AUTHORIZER_KEY, factory.hashSettlement(keccak256(bytes(MISSION)), payments));
        prepare(terms());
        createReverts(terms(), signature, wrongAuthorizer(factory.hashAuthorization(terms()), signature));
    }

    // ------------------------------------------------------------------------------------------------------------ form

    function test_create_highS_reverts() public {
        prepare(terms());
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms());
        (bytes memory twisted, bytes32 s) = highS(signature);
        vm.assertEq(recover(factory.hashAuthorization(terms()), twisted), authorizer);
        createReverts(terms(), twisted, malformedS(s));
    }

    function test_create_signatureOf64Bytes_reverts() public {
        lengthReverts(compact(signAuthorization(AUTHORIZER_KEY, terms())));
    }

    function test_create_signatureOf66Bytes_reverts() public {
        lengthReverts(bytes.concat(signAuthorization(AUTHORIZER_KEY, terms()), hex"00"));
    }

    function test_create_emptySignature_reverts() public {
        lengthReverts("");
    }

    function lengthReverts(bytes memory signature) private {
        prepare(terms());
        createReverts(terms(), signature, malformedLength(signature.length));
    }

    function test_create_recoveryIdInsteadOfV_reverts() public {
        prepare(terms());
        createReverts(terms(), rawV(signAuthorization(AUTHORIZER_KEY, terms())), unrecoverable());
    }

    /// @dev ecrecover answers a bad signature with the zero address, which must never pass for a role holder.
    function test_create_allZeroSignature_reverts() public {
        prepare(terms());
        createReverts(terms(), new bytes(65), unrecoverable());
    }

    function test_create_anyAlteredBitOfTheSignature_reverts() public {
        prepare(terms());
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms());
        for (uint256 bit = 0; bit < 65 * 8; ++bit) {
            signature[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
            vm.expectRevert();
            vm.prank(creator);
            factory.createAuthorizedFundedMission(terms(), signature);
            signature[bit / 8] ^= bytes1(uint8(1 << (bit % 8)));
        }
        vm.prank(creator);
        factory.createAuthorizedFundedMission(terms(), signature);
    }

    /// @dev An address with nonzero upper 96 bits is refused, with any signature.
    function test_create_dirtyAddressWord_reverts() public {
        prepare(terms());
        bytes memory data = abi.encodeCall(
            factory.createAuthorizedFundedMission, (terms(), signAuthorization(AUTHORIZER_KEY, terms()))
        );
        // Head of two offsets, then the struct: offset of missionId, token, reward, target, creator.
        uint256[2] memory places = [uint256(4 + 2 * 32 + 32), 4 + 2 * 32 + 4 * 32];
        for (uint256 i = 0; i < places.length; ++i) {
            data[places[i]] = 0x01;
            vm.prank(creator);
            (bool success, bytes memory result) = address(factory).call(data);
            vm.assertFalse(success);
            vm.assertEq(result, "");
            data[places[i]] = 0x00;
        }
        vm.prank(creator);
        (bool clean,) = address(factory).call(data);
        vm.assertTrue(clean);
    }
}
