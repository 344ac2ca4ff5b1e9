// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";

/// @title Does this contract account accept this signature?
/// @notice Never deployed. A caller that has already tried to recover a plain key runs this as an `eth_call` without a
/// `to`, with creation code + ABI-encoded constructor arguments as data. The answer is one word of two bits:
/// ACCEPTED (1), the account accepts the signature, and DELEGATED (2), the account is a key with delegated code
/// (EIP-7702). So 1 = valid, 0 = not, and for 3 the delegate says yes: whether that counts is the caller's decision.
///
/// - An account with code is asked by ERC-1271, with the inner signature if it came in an ERC-6492 wrapper. Nothing is
///   called before it, so no wrapper can bring a deployed account into a state in which it would say yes.
/// - An account without code is accepted only with an ERC-6492 wrapper whose factory call brings code to exactly this
///   address, and only if that code then accepts the inner signature.
/// - Everything else is 0: plain accounts and precompiles (no code), a failed factory call, a wrapper that does not
///   decode, an answer that is shorter than a word or not exactly the magic value. A precompile that echoes its input
///   (address 4) has no code, and an echo is not the magic value either, because the words after it must be zero.
///
/// @dev Always give the `eth_call` an explicit gas limit (1,000,000 or more) and a `from` that is not the zero address,
/// which some contracts take as a sign of a simulation. The limit is the only bound on the work of foreign code: what
/// is left of it after such code has burnt all it was given (1/64) is enough to answer 0. Foreign return data is never
/// copied beyond one word and never bubbles up. The factory call changes state in the simulation only; never send this
/// as a transaction.
contract SignatureValidator {
    /// @dev ERC-6492: the last word of a wrapped signature.
    bytes32 private constant WRAPPER_SUFFIX = 0x6492649264926492649264926492649264926492649264926492649264926492;

    /// @dev EIP-7702: the code of a delegated account is this prefix and the delegate's address.
    bytes3 private constant DELEGATION_PREFIX = 0xef0100;
    uint256 private constant DELEGATION_LENGTH = 23;

    uint256 private constant ACCEPTED = 1;
    uint256 private constant DELEGATED = 2;

    /// @param account Who is said to have signed.
    /// @param hash What was signed.
    /// @param signature An ERC-1271 signature, or an ERC-6492 wrapper around one.
    constructor(address account, bytes32 hash, bytes memory signature) {
        uint256 answer = _examine(account, hash, signature);
        // The "code" of this contract is the answer.
        assembly ("memory-safe") {
            mstore(0x00, answer)
            return(0x00, 0x20)
        }
    }

    function _examine(address account, bytes32 hash, bytes memory signature) private returns (uint256) {
        bool deployed = account.code.length != 0;
        if (_hasWrapperSuffix(signature)) {
            (bool decoded, address factory, bytes memory factoryCalldata, bytes memory inner) = _unwrap(signature);
            if (!decoded) return _delegation(account);
            if (!deployed) deployed = _deploys(factory, factoryCalldata) && account.code.length != 0;
            signature = inner;
        }
        if (!deployed) return 0;
        // Before the account is asked, because it may burn the gas.
        uint256 delegation = _delegation(account);
        return _accepts(account, hash, signature) ? delegation | ACCEPTED : delegation;
    }

    /// @dev The code of a delegated account is its designator: EXTCODECOPY does not follow it. No contract can have
    /// such code, because code that begins with 0xef cannot be deployed (EIP-3541).
    function _delegation(address account) private view returns (uint256) {
        if (account.code.length != DELEGATION_LENGTH) return 0;
        bytes32 start;
        assembly ("memory-safe") {
            extcodecopy(account, 0x00, 0x00, 0x20)
            start := mload(0x00)
        }
        return bytes3(start) == DELEGATION_PREFIX ? DELEGATED : 0;
    }

    function _hasWrapperSuffix(bytes memory signature) private pure returns (bool wrapped) {
        assembly ("memory-safe") {
            let length := mload(signature)
            // The word that ends where the signature ends.
            wrapped := and(gt(length, 0x1f), eq(mload(add(signature, length)), WRAPPER_SUFFIX))
        }
    }

    /// @dev Decodes abi.encode(factory, factoryCalldata, innerSignature) ++ suffix. By hand, because abi.decode
    /// reverts on garbage, and a revert is for the caller no answer. Reuses the memory of `signature`.
    function _unwrap(bytes memory signature)
        private
        pure
        returns (bool ok, address factory, bytes memory factoryCalldata, bytes memory innerSignature)
    {
        uint256 size = signature.length - 0x20;
        if (size < 0x60) return (false, address(0), "", "");
        uint256 factoryWord = _word(signature, 0x00);
        (bool calldataOk, bytes memory decodedCalldata) = _slice(signature, size, _word(signature, 0x20));
        (bool innerOk, bytes memory decodedInner) = _slice(signature, size, _word(signature, 0x40));
        if (factoryWord > type(uint160).max || !calldataOk || !innerOk) return (false, address(0), "", "");
        return (true, address(uint160(factoryWord)), decodedCalldata, decodedInner);
    }

    /// @dev The `bytes` whose length is the word at `offset`, if it lies within the first `size` bytes of `data`.
    function _slice(bytes memory data, uint256 size, uint256 offset)
        private
        pure
        returns (bool ok, bytes memory slice)
    {
        if (offset > size - 0x20) return (false, "");
        if (_word(data, offset) > size - 0x20 - offset) return (false, "");
        assembly ("memory-safe") {
            slice := add(add(data, 0x20), offset)
        }
        return (true, slice);
    }

    function _word(bytes memory data, uint256 offset) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := mload(add(add(data, 0x20), offset))
        }
    }

    function _deploys(address factory, bytes memory factoryCalldata) private returns (bool success) {
        assembly ("memory-safe") {
            success := call(gas(), factory, 0, add(factoryCalldata, 0x20), mload(factoryCalldata), 0x00, 0x00)
        }
    }

    function _accepts(address account, bytes32 hash, bytes memory signature) private view returns (bool accepted) {
        bytes memory question = abi.encodeCall(IERC1271.isValidSignature, (hash, signature));
        bytes32 magic = bytes32(IERC1271.isValidSignature.selector);
        assembly ("memory-safe") {
            let success := staticcall(gas(), account, add(question, 0x20), mload(question), 0x00, 0x20)
            accepted := and(and(success, gt(returndatasize(), 0x1f)), eq(mload(0x00), magic))
        }
    }
}
