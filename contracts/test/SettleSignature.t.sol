// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev A settlement pays exactly what the SETTLER signed, on the mission and in the place it was signed for.
contract SettleSignatureTest is Fixture {
    bytes32 private missionKey;

    function setUp() public override {
        super.setUp();
        missionKey = fundMission();
    }

    // ---------------------------------------------------------------------------------------------------- bound fields

    function signed() private pure returns (IMissionFactory.Payment[] memory) {
        return paymentsFrom(0, 2);
    }

    function test_settle_alteredSlot_reverts() public {
        IMissionFactory.Payment[] memory sent = signed();
        sent[1].slot = 2;
        alteredReverts(missionKey, sent);
    }

    function test_settle_alteredRecipient_reverts() public {
        IMissionFactory.Payment[] memory sent = signed();
        sent[1].recipient = stranger;
        alteredReverts(missionKey, sent);
    }

    function test_settle_alteredSubmissionKey_reverts() public {
        IMissionFactory.Payment[] memory sent = signed();
        sent[1].submissionKey = keccak256("other submission");
        alteredReverts(missionKey, sent);
    }

    function test_settle_alteredOrder_reverts() public {
        alteredReverts(missionKey, batch(signed()[1], signed()[0]));
    }

    function test_settle_paymentLeftOut_reverts() public {
        alteredReverts(missionKey, paymentsFrom(0, 1));
    }

    function test_settle_paymentAdded_reverts() public {
        alteredReverts(missionKey, paymentsFrom(0, 3));
    }

    function test_settle_recipientsSwapped_reverts() public {
        IMissionFactory.Payment[] memory sent = signed();
        (sent[0].recipient, sent[1].recipient) = (sent[1].recipient, sent[0].recipient);
        alteredReverts(missionKey, sent);
    }

    /// @dev A receipt cannot be cut out of a batch.
    function test_settle_emptiedBatch_reverts() public {
        alteredReverts(missionKey, new IMissionFactory.Payment[](0));
    }

    function test_settle_anotherMissionsSignature_reverts() public {
        bytes32 other = fund("mission-2", address(usdc), REWARD, TARGET);
        alteredReverts(other, signed());
    }

    function alteredReverts(bytes32 key, IMissionFactory.Payment[] memory sent) private {
        bytes memory signature = signSettlement(missionKey, signed());
        settleReverts(key, sent, signature, wrongSettler(factory.hashSettlement(key, sent), signature));
    }

    // ---------------------------------------------------------------------------------------------------------- signer

    function test_settle_signedByStranger_reverts() public {
        signerReverts(STRANGER_KEY, stranger);
    }

    function test_settle_signedByCreator_reverts() public {
        signerReverts(CREATOR_KEY, creator);
    }

    function test_settle_signedByAuthorizer_reverts() public {
        signerReverts(AUTHORIZER_KEY, authorizer);
    }

    function test_settle_signedByAdmin_reverts() public {
        signerReverts(uint256(keccak256("admin")), admin);
    }

    function signerReverts(uint256 key, address signer) private {
        bytes memory signature = sign(key, factory.hashSettlement(missionKey, signed()));
        settleReverts(missionKey, signed(), signature, unauthorized(signer, factory.SETTLER_ROLE()));
    }

    // ----------------------------------------------------------------------------------------------------------- place

    function test_settle_onAnotherChain_reverts() public {
        bytes memory signature = signSettlement(missionKey, signed());
        uint256 home = block.chainid;
        vm.chainId(home + 1);
        settleReverts(
            missionKey, signed(), signature, wrongSettler(factory.hashSettlement(missionKey, signed()), signature)
        );
        vm.chainId(home);
        factory.settle(missionKey, signed(), signature);
    }

    function test_settle_onAnotherContract_reverts() public {
        bytes memory signature = signSettlement(missionKey, signed());
        factory = deployFactory(address(serviceToken), address(usdc));
        fundMission();
        settleReverts(
            missionKey, signed(), signature, wrongSettler(factory.hashSettlement(missionKey, signed()), signature)
        );
    }

    function test_settle_withTheSignatureOfAClose_reverts() public {
        bytes memory signature = signClose(missionKey, 0);
        settleReverts(
            missionKey, signed(), signature, wrongSettler(factory.hashSettlement(missionKey, signed()), signature)
        );
    }

    // ------------------------------------------------------------------------------------------------------------ form

    function test_settle_highS_reverts() public {
        (bytes memory twisted, bytes32 s) = highS(signSettlement(missionKey, signed()));
        settleReverts(missionKey, signed(), twisted, malformedS(s));
    }

    function test_settle_signatureOf64Bytes_reverts() public {
        bytes memory signature = compact(signSettlement(missionKey, signed()));
        settleReverts(missionKey, signed(), signature, malformedLength(64));
    }

    function test_settle_allZeroSignature_reverts() public {
        settleReverts(missionKey, signed(), new bytes(65), unrecoverable());
    }

    /// @dev Payments are hashed word by word as they come. A word with more in it than its type holds must not be paid,
    /// not even if it was signed like that.
    function test_settle_dirtySlotWord_reverts() public {
        wordsRevert([uint256(1 << 24) | 1, uint160(stranger), 0]);
    }

    function test_settle_dirtyRecipientWord_reverts() public {
        wordsRevert([uint256(1), (1 << 160) | uint160(stranger), 0]);
    }

    function wordsRevert(uint256[3] memory words) private {
        (bool success, bytes memory result) = settleWords(words);
        vm.assertFalse(success);
        vm.assertEq(result, "");
        // The same call with clean words goes through.
        (success,) = settleWords([uint256(1), uint160(stranger), 0]);
        vm.assertTrue(success);
        vm.assertEq(usdc.balanceOf(stranger), REWARD);
    }

    /// @dev A settlement of one payment, encoded by hand.
    function settleWords(uint256[3] memory words) private returns (bool success, bytes memory result) {
        bytes memory signature = sign(SETTLER_KEY, digestOfWords(words));
        uint256 paymentsAt = 0x60;
        uint256 signatureAt = paymentsAt + 0x20 + 0x60;
        return address(factory)
            .call(
                bytes.concat(
                    factory.settle.selector,
                    abi.encode(missionKey, paymentsAt, signatureAt),
                    abi.encode(uint256(1), words),
                    abi.encode(signature.length),
                    signature,
                    new bytes(31)
                )
            );
    }

    /// @dev The digest of a signer that hashes the words without checking their types.
    function digestOfWords(uint256[3] memory words) private view returns (bytes32) {
        bytes32 paymentHash =
            keccak256(abi.encode(keccak256("Payment(uint24 slot,address recipient,bytes32 submissionKey)"), words));
        bytes32 settlementHash = keccak256(
            abi.encode(
                keccak256(
                    "Settlement(bytes32 missionKey,Payment[] payments)Payment(uint24 slot,address recipient,bytes32 submissionKey)"
                ),
                missionKey,
                keccak256(abi.encode(paymentHash))
            )
        );
        (, string memory name, string memory version, uint256 chainId, address verifyingContract,,) =
            factory.eip712Domain();
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256(bytes(name)),
                keccak256(bytes(version)),
                chainId,
                verifyingContract
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, settlementHash));
    }
}
