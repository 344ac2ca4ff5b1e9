// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SignatureValidator} from "../src/SignatureValidator.sol";
import {Base} from "./Base.t.sol";
import "./fixtures/Wallets.sol";

contract SignatureValidatorTest is Base {
    bytes32 private constant MAGIC = 0x1626ba7e00000000000000000000000000000000000000000000000000000000;
    bytes32 private constant SUFFIX = 0x6492649264926492649264926492649264926492649264926492649264926492;
    bytes32 private constant HASH = keccak256("a signed request");
    /// @dev The documented minimum gas.
    uint256 private constant GAS_LIMIT = 1_000_000;
    uint256 private constant OWNER_KEY = CREATOR_KEY;
    uint256 private constant ACCEPTED = 1;
    uint256 private constant DELEGATED = 2;
    /// @dev Answers everything with the magic value; as long as a designator.
    bytes private constant YES_CODE = hex"631626ba7e60e01b5f5260205ff3000000000000000000";

    WalletFactory private wallets;
    address private owner;
    address private undeployed;
    bytes private good;
    bytes private bad;

    function setUp() public override {
        super.setUp();
        owner = vm.addr(OWNER_KEY);
        wallets = new WalletFactory();
        undeployed = wallets.addressOf(owner);
        good = sign(OWNER_KEY, HASH);
        bad = sign(STRANGER_KEY, HASH);
    }

    // -------------------------------------------------------------------------------------------------------- ERC-1271

    function test_deployed_ownersSignature_isValid() public {
        accepted(address(new OwnedWallet(owner)), good);
    }

    function test_deployed_strangersSignature_isNot() public {
        refused(address(new OwnedWallet(owner)), bad);
    }

    function test_deployed_signatureOfAnotherHash_isNot() public {
        refused(address(new OwnedWallet(owner)), sign(OWNER_KEY, keccak256("another request")));
    }

    function test_deployed_emptySignature_isNot() public {
        refused(address(new OwnedWallet(owner)), "");
    }

    function test_deployed_wrappedSignature_isUnwrapped() public {
        wallets.make(owner);
        accepted(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), good));
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), bad));
    }

    /// @dev Otherwise a wrapper could bring an account into a state in which it accepts.
    function test_deployed_factoryIsNeverCalled() public {
        OpenableWallet wallet = new OpenableWallet();
        refused(address(wallet), wrap(address(wallet), abi.encodeCall(wallet.open, ()), good));
        wallet.open();
        accepted(address(wallet), good);
    }

    // -------------------------------------------------------------------------------------------------------- EIP-7702

    function test_delegatedAccount_isMarked() public {
        vm.signAndAttachDelegation(address(new OwnedWallet(stranger)), OWNER_KEY);
        answered(owner, bad, DELEGATED | ACCEPTED);
        answered(owner, good, DELEGATED);
    }

    /// @dev No wrapper, and no factory that it calls, takes the mark away.
    function test_delegatedAccount_inAWrapper_isMarked() public {
        vm.etch(stranger, YES_CODE);
        vm.signAndAttachDelegation(stranger, OWNER_KEY);
        answered(owner, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), hex"01"), DELEGATED | ACCEPTED);
        answered(owner, wrap(address(4), "", hex"01"), DELEGATED | ACCEPTED);
        answered(owner, abi.encodePacked(hex"01", SUFFIX), DELEGATED);
    }

    function test_delegatedAccount_burningDelegate_isMarked() public {
        vm.signAndAttachDelegation(address(new LoopingWallet()), OWNER_KEY);
        answered(owner, good, DELEGATED);
    }

    /// @dev A contract of the same length as a designator is a contract.
    function test_contractAsLongAsADesignator_isNotMarked() public {
        vm.etch(stranger, YES_CODE);
        vm.assertEq(stranger.code.length, 23);
        accepted(stranger, good);
    }

    // -------------------------------------------------------------------------------------------------------- ERC-6492

    function test_undeployed_ownersSignature_isValid() public {
        accepted(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), good));
    }

    function test_undeployed_garbageSignature_isNot() public {
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), bad));
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), ""));
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), hex"1626ba7e"));
    }

    function test_undeployed_withoutWrapper_isNot() public {
        refused(undeployed, good);
    }

    function test_undeployed_factoryMakesAnotherWallet_isNot() public {
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.make, (stranger)), bad));
    }

    function test_undeployed_factoryFails_isNot() public {
        refused(undeployed, wrap(address(wallets), abi.encodeCall(wallets.makeAndRevert, (owner)), good));
    }

    function test_undeployed_factoryMakesNothing_isNot() public {
        factoryRefused(address(0), "");
        factoryRefused(stranger, "");
        factoryRefused(address(4), abi.encodePacked(MAGIC));
        factoryRefused(address(usdc), abi.encodeCall(usdc.approve, (stranger, 1)));
        factoryRefused(address(serviceToken), abi.encodeCall(serviceToken.approve, (stranger, 1)));
        factoryRefused(address(factory), abi.encodeCall(factory.usdc, ()));
        factoryRefused(address(new ParrotWallet(abi.encode(MAGIC))), "");
        factoryRefused(address(new LoopingWallet()), "");
        factoryRefused(address(new ReturnBombWallet()), "");
        factoryRefused(address(new RevertBombWallet()), "");
    }

    function test_undeployed_dirtyFactoryAddress_isNot() public {
        bytes memory wrapper = wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), good);
        wrapper[11] = 0x01;
        refused(undeployed, wrapper);
    }

    /// @dev The wrapper is decoded as abi.decode would, whatever the lengths.
    function testFuzz_wrapper_isDecoded(bytes calldata factoryCalldata, bytes calldata inner) public {
        accepted(address(new ExactWallet(inner)), wrap(address(wallets), factoryCalldata, inner));
    }

    /// @dev Garbage before the suffix is an answer, not a failure; also if the account accepts everything.
    function testFuzz_wrapper_garbageIsNot(bytes calldata garbage) public {
        bytes memory wrapper = abi.encodePacked(garbage, SUFFIX);
        refused(undeployed, wrapper);
        if (garbage.length < 0x60) refused(address(new ParrotWallet(abi.encode(MAGIC))), wrapper);
    }

    /// @dev Offsets and lengths that point out of the wrapper, around every edge.
    function testFuzz_wrapper_wildOffsetsAreNot(uint256 first, uint256 second) public {
        address yes = address(new ParrotWallet(abi.encode(MAGIC)));
        uint256 outside = 0x80 + first % (type(uint256).max - 0x80);
        refused(yes, abi.encodePacked(uint256(0), outside, uint256(0x60), uint256(0), SUFFIX));
        refused(yes, abi.encodePacked(uint256(0), uint256(0x60), outside, uint256(0), SUFFIX));
        uint256 tooLong = 1 + second % type(uint256).max;
        refused(yes, abi.encodePacked(uint256(0), uint256(0x60), uint256(0x60), tooLong, SUFFIX));
        accepted(yes, abi.encodePacked(uint256(0), uint256(0x60), uint256(0x60), uint256(0), SUFFIX));
    }

    // ---------------------------------------------------------------------------------------- no account, or a bad one

    function test_plainAccount_isNot() public {
        refused(owner, good);
        refused(owner, wrap(address(wallets), abi.encodeCall(wallets.make, (owner)), good));
        refused(address(0), good);
    }

    /// @dev The identity precompile answers a question with itself, so its first bytes are the magic value.
    function test_precompiles_areNot() public {
        for (uint160 i = 1; i <= 0x11; ++i) {
            refused(address(i), good);
            refused(address(i), wrap(address(i), abi.encodePacked(MAGIC), good));
        }
        refused(address(0x100), good);
    }

    /// @dev For a hash that begins with 28 zero bytes its answer is the magic word: that it has no code must be enough.
    function test_identityPrecompile_withItsFavouriteHash_isNot() public {
        bytes32 hash = bytes32(uint256(1));
        vm.assertEq(this.validate(address(4), hash, good), 0);
        vm.assertEq(this.validate(address(4), hash, wrap(address(4), abi.encodePacked(MAGIC), good)), 0);
    }

    function test_echo_isNot() public {
        refused(address(new EchoWallet()), good);
    }

    function test_answerThatIsNotExactlyTheMagicWord_isNot() public {
        answerRefused("");
        answerRefused(hex"1626ba7e");
        answerRefused(abi.encodePacked(bytes31(MAGIC)));
        answerRefused(abi.encode(bytes32(uint256(MAGIC) | 1)));
        answerRefused(abi.encode(uint256(0x1626ba7e)));
        answerRefused(abi.encode(true));
        answerRefused(abi.encode(bytes4(0xffffffff)));
        answerRefused(abi.encode(0, MAGIC));
    }

    /// @dev Its first word is the right one, so it is an answer; the caller must not pay for the rest.
    function test_returnBomb_costsItsMakerOnly() public {
        accepted(address(new ReturnBombWallet()), good);
    }

    function test_revertBomb_isNot() public {
        refused(address(new RevertBombWallet()), good);
    }

    function test_gasLoop_isNot() public {
        refused(address(new LoopingWallet()), good);
    }

    function test_selfDestruct_isNot() public {
        vm.etch(stranger, hex"5fff"); // PUSH0 SELFDESTRUCT
        refused(stranger, good);
    }

    // -------------------------------------------------------------------------------------------------------- the call

    function factoryRefused(address maker, bytes memory data) private {
        refused(undeployed, wrap(maker, data, good));
    }

    function answerRefused(bytes memory answer) private {
        refused(address(new ParrotWallet(answer)), good);
    }

    function accepted(address account, bytes memory signature) private {
        answered(account, signature, ACCEPTED);
    }

    function refused(address account, bytes memory signature) private {
        answered(account, signature, 0);
    }

    function answered(address account, bytes memory signature, uint256 answer) private {
        vm.assertEq(this.validate{gas: GAS_LIMIT}(account, HASH, signature), answer);
    }

    function wrap(address maker, bytes memory factoryCalldata, bytes memory inner) private pure returns (bytes memory) {
        return abi.encodePacked(abi.encode(maker, factoryCalldata, inner), SUFFIX);
    }

    /// @dev What a node does for an eth_call without a recipient, undone like it; the answer must be one word.
    function validate(address account, bytes32 hash, bytes memory signature) external returns (uint256) {
        try this.create(abi.encodePacked(type(SignatureValidator).creationCode, abi.encode(account, hash, signature))) {
            revert("create never returns");
        } catch (bytes memory answer) {
            vm.assertEq(answer.length, 32);
            return abi.decode(answer, (uint256));
        }
    }

    function create(bytes memory initCode) external {
        address created;
        assembly ("memory-safe") {
            created := create(0, add(initCode, 0x20), mload(initCode))
        }
        bytes memory answer = created.code;
        assembly ("memory-safe") {
            revert(add(answer, 0x20), mload(answer))
        }
    }
}
