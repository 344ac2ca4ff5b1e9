// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Contracts of creators and attackers. `go generate` compiles them to accounts.json.

/// A smart account that executes what its owner signed, in a transaction of any sender. As the code of a delegated
/// (EIP-7702) key it has no owner in storage and obeys that key.
contract RelayedAccount {
    struct Call {
        address target;
        bytes data;
    }

    error NotSigned();

    address private owner;
    uint256 private executed; // makes every signed batch good for one time

    constructor(address owner_) {
        owner = owner_;
    }

    function execute(Call[] calldata calls, bytes calldata signature) external {
        bytes32 hash = keccak256(abi.encode(block.chainid, address(this), executed++, calls));
        if (!signedByOwner(hash, signature)) revert NotSigned();
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory result) = calls[i].target.call(calls[i].data);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(result, 0x20), mload(result))
                }
            }
        }
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return signedByOwner(hash, signature) ? this.isValidSignature.selector : bytes4(0xffffffff);
    }

    function signedByOwner(bytes32 hash, bytes calldata signature) private view returns (bool) {
        if (signature.length != 65) return false;
        address signer = ecrecover(hash, uint8(signature[64]), bytes32(signature[0:32]), bytes32(signature[32:64]));
        return signer != address(0) && signer == (owner == address(0) ? address(this) : owner);
    }
}

/// Repeats any event under its own address: four topics, then the data.
contract EventForger {
    fallback() external {
        assembly {
            let size := sub(calldatasize(), 0x80)
            calldatacopy(0, 0x80, size)
            log4(0, size, calldataload(0), calldataload(0x20), calldataload(0x40), calldataload(0x60))
        }
    }
}

/// An account without an owner: anyone may make it do many things in one transaction, and everything is signed by it. After the
/// calls it writes empty logs.
contract Crowd {
    struct Call {
        address target;
        bytes data;
    }

    function run(Call[] calldata calls, uint256 logs) external {
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory result) = calls[i].target.call(calls[i].data);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(result, 0x20), mload(result))
                }
            }
        }
        assembly ("memory-safe") {
            for {} gt(logs, 7) { logs := sub(logs, 8) } {
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
                log0(0, 0)
            }
            for {} logs { logs := sub(logs, 1) } {
                log0(0, 0)
            }
        }
    }

    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return this.isValidSignature.selector;
    }
}

/// Approves hashes on chain, as a Safe does with SignMessageLib: an approved hash needs no signature.
contract ApprovingAccount {
    address private immutable owner;
    mapping(bytes32 hash => bool) private approved;

    constructor(address owner_) {
        owner = owner_;
    }

    function approve(bytes32 hash) external {
        require(msg.sender == owner);
        approved[hash] = true;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        return signature.length == 0 && approved[hash] ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}
