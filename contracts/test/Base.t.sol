// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {MissionFactory} from "../src/MissionFactory.sol";
import {ServiceToken} from "../src/ServiceToken.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {TestUSDC, TestUSDCProxy} from "../src/testing/TestUSDC.sol";

/// @dev The cheat codes in use; forge answers them at VM_ADDRESS.
interface Vm {
    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    struct SignedDelegation {
        uint8 v;
        bytes32 r;
        bytes32 s;
        uint64 nonce;
        address implementation;
    }

    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    // Accounts and signatures.
    function addr(uint256 privateKey) external pure returns (address);
    function sign(uint256 privateKey, bytes32 digest) external pure returns (uint8 v, bytes32 r, bytes32 s);
    function signAndAttachDelegation(address implementation, uint256 privateKey)
        external
        returns (SignedDelegation memory);
    function label(address account, string calldata name) external;

    // Whose call comes next.
    function prank(address sender) external;
    function prank(address sender, address origin) external;
    function startPrank(address sender) external;
    function stopPrank() external;

    // State of the chain.
    function warp(uint256 timestamp) external;
    function roll(uint256 height) external;
    function chainId(uint256 id) external;
    function deal(address account, uint256 balance) external;
    function etch(address account, bytes calldata code) external;
    function load(address account, bytes32 slot) external view returns (bytes32);
    function store(address account, bytes32 slot, bytes32 value) external;
    function setNonce(address account, uint64 nonce) external;
    function mockCallRevert(address callee, bytes calldata data, bytes calldata revertData) external;
    function clearMockedCalls() external;

    // Expectations.
    function expectRevert() external;
    function expectRevert(bytes4 selector) external;
    function expectRevert(bytes calldata data) external;
    function expectPartialRevert(bytes4 selector) external;
    function expectEmit(address emitter) external;
    function expectCall(address callee, bytes calldata data, uint64 count) external;
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
    function lastCallGas() external view returns (Gas memory);

    // Assertions.
    function assertTrue(bool condition) external pure;
    function assertTrue(bool condition, string calldata message) external pure;
    function assertFalse(bool condition) external pure;
    function assertFalse(bool condition, string calldata message) external pure;
    function assertEq(bool left, bool right) external pure;
    function assertEq(uint256 left, uint256 right) external pure;
    function assertEq(uint256 left, uint256 right, string calldata message) external pure;
    function assertEq(address left, address right) external pure;
    function assertEq(address left, address right, string calldata message) external pure;
    function assertEq(bytes32 left, bytes32 right) external pure;
    function assertEq(bytes32 left, bytes32 right, string calldata message) external pure;
    function assertEq(bytes calldata left, bytes calldata right) external pure;
    function assertEq(bytes calldata left, bytes calldata right, string calldata message) external pure;
    function assertEq(string calldata left, string calldata right) external pure;
    function assertNotEq(uint256 left, uint256 right) external pure;
    function assertNotEq(bytes32 left, bytes32 right) external pure;
    function assertLe(uint256 left, uint256 right) external pure;
    function assertLe(uint256 left, uint256 right, string calldata message) external pure;
    function assertGe(uint256 left, uint256 right) external pure;
    function assertGe(uint256 left, uint256 right, string calldata message) external pure;
    function assertLt(uint256 left, uint256 right) external pure;
    function assertGt(uint256 left, uint256 right) external pure;

    // Fuzzing.
    function assume(bool condition) external pure;
    function randomUint() external view returns (uint256);

    // Files and JSON.
    function readFile(string calldata path) external view returns (string memory);
    function writeFile(string calldata path, string calldata data) external;
    function envOr(string calldata name, bool fallbackValue) external view returns (bool);
    function toString(uint256 value) external pure returns (string memory);
    function keyExistsJson(string calldata json, string calldata key) external view returns (bool);
    function parseJsonUint(string calldata json, string calldata key) external pure returns (uint256);
    function parseJsonString(string calldata json, string calldata key) external pure returns (string memory);
    function parseJsonAddress(string calldata json, string calldata key) external pure returns (address);
    function parseJsonBytes(string calldata json, string calldata key) external pure returns (bytes memory);
    function parseJsonBytes32(string calldata json, string calldata key) external pure returns (bytes32);
}

/// @dev A deployed factory with its tokens and keys, and short ways to fund and settle missions.
abstract contract Base {
    Vm internal constant vm = Vm(0x7109709ECfa91a80626fF3989D68f67F5b1DD12D);

    uint256 internal constant NOW = 1_770_000_000;
    uint256 internal constant RECLAIM_DELAY = 180 days;
    uint256 internal constant NO_CAP = type(uint256).max;

    uint256 internal constant AUTHORIZER_KEY = uint256(keccak256("authorizer"));
    uint256 internal constant SETTLER_KEY = uint256(keccak256("settler"));
    uint256 internal constant CREATOR_KEY = uint256(keccak256("creator"));
    uint256 internal constant STRANGER_KEY = uint256(keccak256("stranger"));

    address internal immutable authorizer = vm.addr(AUTHORIZER_KEY);
    address internal immutable settler = vm.addr(SETTLER_KEY);
    address internal immutable creator = vm.addr(CREATOR_KEY);
    address internal immutable stranger = vm.addr(STRANGER_KEY);
    address internal immutable admin = vm.addr(uint256(keccak256("admin")));
    address internal immutable pauser = vm.addr(uint256(keccak256("pauser")));
    address internal immutable issuer = vm.addr(uint256(keccak256("issuer")));

    MissionFactory internal factory;
    ServiceToken internal serviceToken;
    TestUSDC internal usdc;

    function setUp() public virtual {
        vm.warp(NOW);
        serviceToken = new ServiceToken("Service Token", "SERVICE", issuer, 1e15 * 1e18);
        usdc = TestUSDC(address(new TestUSDCProxy(issuer)));
        factory = deployFactory(address(serviceToken), address(usdc));
    }

    function deployFactory(address serviceToken_, address usdc_) internal returns (MissionFactory) {
        return new MissionFactory(admin, 2 days, authorizer, settler, pauser, serviceToken_, usdc_, NO_CAP, NO_CAP);
    }

    // --------------------------------------------------------------------------------------------------------- funding

    function give(address token, address account, uint256 amount) internal {
        vm.prank(issuer);
        if (token == address(usdc)) usdc.mint(account, amount);
        else serviceToken.transfer(account, amount);
    }

    function authorization(string memory missionId, address token, uint256 reward, uint256 target)
        internal
        view
        returns (IMissionFactory.MissionAuthorization memory)
    {
        return IMissionFactory.MissionAuthorization({
            missionId: missionId,
            token: token,
            rewardPerSubmission: reward,
            targetCount: target,
            creator: creator,
            nonce: keccak256(bytes(missionId)),
            deadline: block.timestamp + 30 minutes
        });
    }

    /// @dev Gives the creator of `terms` exactly the budget, approves it, signs the terms and sends them.
    function fund(IMissionFactory.MissionAuthorization memory terms) internal returns (bytes32 missionKey) {
        prepare(terms);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, terms);
        vm.prank(terms.creator);
        return factory.createAuthorizedFundedMission(terms, signature);
    }

    function fund(string memory missionId, address token, uint256 reward, uint256 target) internal returns (bytes32) {
        return fund(authorization(missionId, token, reward, target));
    }

    /// @dev Prepares a funding: gives the creator the budget and approves it.
    function prepare(IMissionFactory.MissionAuthorization memory terms) internal {
        uint256 budget = terms.rewardPerSubmission * terms.targetCount;
        give(terms.token, terms.creator, budget);
        vm.prank(terms.creator);
        ServiceToken(terms.token).approve(address(factory), budget);
    }

    // ------------------------------------------------------------------------------------------------------ signatures

    function sign(uint256 key, bytes32 digest) internal pure returns (bytes memory) {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(key, digest);
        return abi.encodePacked(r, s, v);
    }

    function signAuthorization(uint256 key, IMissionFactory.MissionAuthorization memory terms)
        internal
        view
        returns (bytes memory)
    {
        return sign(key, factory.hashAuthorization(terms));
    }

    function signSettlement(bytes32 missionKey, IMissionFactory.Payment[] memory payments)
        internal
        view
        returns (bytes memory)
    {
        return sign(SETTLER_KEY, factory.hashSettlement(missionKey, payments));
    }

    function signClose(bytes32 missionKey, uint256 paidCount) internal view returns (bytes memory) {
        return sign(SETTLER_KEY, factory.hashClose(missionKey, paidCount));
    }

    // ------------------------------------------------------------------------------------------------------ settlement

    function payment(uint256 slot, address recipient) internal pure returns (IMissionFactory.Payment memory) {
        return IMissionFactory.Payment(uint24(slot), recipient, keccak256(abi.encode("submission", slot)));
    }

    /// @dev Payments of the slots first, first + 1, ... to as many different accounts.
    function paymentsFrom(uint256 first, uint256 count) internal pure returns (IMissionFactory.Payment[] memory list) {
        list = new IMissionFactory.Payment[](count);
        for (uint256 i = 0; i < count; ++i) {
            list[i] = payment(first + i, contributor(first + i));
        }
    }

    function single(uint256 slot, address recipient) internal pure returns (IMissionFactory.Payment[] memory list) {
        list = new IMissionFactory.Payment[](1);
        list[0] = payment(slot, recipient);
    }

    function contributor(uint256 number) internal pure returns (address) {
        return address(uint160(uint256(keccak256(abi.encode("contributor", number)))));
    }

    function settle(bytes32 missionKey, IMissionFactory.Payment[] memory payments) internal {
        factory.settle(missionKey, payments, signSettlement(missionKey, payments));
    }

    function close(bytes32 missionKey, uint256 paidCount) internal {
        factory.close(missionKey, paidCount, signClose(missionKey, paidCount));
    }
}
