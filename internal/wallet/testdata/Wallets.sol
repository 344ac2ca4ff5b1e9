// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

// Contract wallets, good and bad, for the tests of the Go package above. `go generate` compiles them to wallets.json.

/// The smallest honest contract wallet: what its owner's key signed is signed. It checks the bare hash, as the wallets did
/// whose signatures could be carried over to another wallet of the same owner.
contract OwnerWallet {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address signer = ecrecover(hash, uint8(signature[64]), r, s);
        return signer != address(0) && signer == owner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// Deploys wallets at addresses known before, for ERC-6492.
contract WalletFactory {
    function deploy(bytes calldata creationCode, bytes32 salt) public returns (address wallet) {
        bytes memory code = creationCode;
        assembly {
            wallet := create2(0, add(code, 0x20), mload(code), salt)
        }
    }

    /// Leaves the caller little gas after an honest deployment.
    function deployThenBurn(bytes calldata creationCode, bytes32 salt, uint256 leave) external {
        deploy(creationCode, salt);
        while (gasleft() > leave) {}
    }
}

/// Says yes to everybody, as code delegated to by EIP-7702 may.
contract YesWallet {
    function isValidSignature(bytes32, bytes calldata) external pure returns (bytes4) {
        return this.isValidSignature.selector;
    }
}

/// Accepts every signature once opened; any caller may open it.
contract OpenableWallet {
    bool private opened;

    function open() external {
        opened = true;
    }

    function isValidSignature(bytes32, bytes calldata) external view returns (bytes4) {
        return opened ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

contract LoopWallet {
    fallback() external {
        assembly {
            for {} 1 {} {}
        }
    }
}

/// Answers with as many zeros as its gas buys.
contract ReturnBombWallet {
    fallback() external {
        assembly {
            return(0, 500000)
        }
    }
}

contract RevertBombWallet {
    fallback() external {
        assembly {
            revert(0, 500000)
        }
    }
}

contract SelfDestructWallet {
    fallback() external {
        selfdestruct(payable(msg.sender));
    }
}

/// Returns the four magic bytes without the 28 zeros after them.
contract ShortAnswerWallet {
    fallback() external {
        assembly {
            mstore(0, shl(224, 0x1626ba7e))
            return(0, 4)
        }
    }
}

/// Answers "true", as ERC-1271 never does.
contract TrueWallet {
    fallback() external {
        assembly {
            mstore(0, 1)
            return(0, 32)
        }
    }
}

/// Answers whatever it was asked.
contract EchoWallet {
    fallback() external {
        assembly {
            calldatacopy(0, 0, calldatasize())
            return(0, calldatasize())
        }
    }
}
