// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev A contract account: makes several calls at once for its owner. As the code of a delegated
/// (EIP-7702) account it has no owner in storage and obeys the account itself.
contract BatchAccount {
    struct Call {
        address target;
        bytes data;
    }

    error NotOwner(address sender);

    address public owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function execute(Call[] calldata calls) external {
        if (msg.sender != owner && msg.sender != address(this)) revert NotOwner(msg.sender);
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory result) = calls[i].target.call(calls[i].data);
            if (!success) {
                assembly ("memory-safe") {
                    revert(add(result, 0x20), mload(result))
                }
            }
        }
    }
}

/// @dev Where an account under construction asks what to do: its address must not depend on the answer.
interface IBirthplace {
    function birthCalls() external returns (BatchAccount.Call[] memory);
}

/// @dev Acts before it has code.
contract UnbornAccount {
    constructor() {
        BatchAccount.Call[] memory calls = IBirthplace(msg.sender).birthCalls();
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success,) = calls[i].target.call(calls[i].data);
            require(success, "a call failed");
        }
    }
}

/// @dev Every kind of account can be creator and contributor: the factory checks the sender's address, not its code.
contract SendersTest is Fixture, IBirthplace {
    BatchAccount.Call[] private pending;

    function termsOf(address account) private view returns (IMissionFactory.MissionAuthorization memory sent) {
        sent = terms();
        sent.creator = account;
    }

    /// @dev approve + create, for the account that was given the budget.
    function callsFor(IMissionFactory.MissionAuthorization memory sent)
        private
        returns (BatchAccount.Call[] memory calls)
    {
        give(address(usdc), sent.creator, REWARD * TARGET);
        calls = new BatchAccount.Call[](2);
        calls[0] = BatchAccount.Call(address(usdc), abi.encodeCall(usdc.approve, (address(factory), REWARD * TARGET)));
        calls[1] = BatchAccount.Call(
            address(factory),
            abi.encodeCall(factory.createAuthorizedFundedMission, (sent, signAuthorization(AUTHORIZER_KEY, sent)))
        );
    }

    function assertFundedBy(address account) private view {
        bytes32 missionKey = keccak256(bytes(MISSION));
        vm.assertEq(factory.missions(missionKey).creator, account);
        vm.assertEq(factory.remaining(missionKey), REWARD * TARGET);
        vm.assertEq(usdc.balanceOf(address(factory)), REWARD * TARGET);
        vm.assertEq(usdc.balanceOf(account), 0);
        vm.assertEq(usdc.allowance(account, address(factory)), 0);
    }

    // ------------------------------------------------------------------------------------------------------- plain key

    function test_create_byPlainKey() public {
        vm.assertEq(creator.code.length, 0);
        IMissionFactory.MissionAuthorization memory sent = termsOf(creator);
        prepare(sent);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);
        expectFunded(sent);
        vm.prank(creator, creator);
        factory.createAuthorizedFundedMission(sent, signature);
        assertFundedBy(creator);
    }

    // ------------------------------------------------------------------------------------------------ contract account

    function test_create_byContractAccount_inOneCall() public {
        BatchAccount account = new BatchAccount(stranger);
        IMissionFactory.MissionAuthorization memory sent = termsOf(address(account));
        BatchAccount.Call[] memory calls = callsFor(sent);
        expectFunded(sent);
        vm.prank(stranger, stranger);
        account.execute(calls);
        assertFundedBy(address(account));
    }

    /// @dev The owner of a contract account is not the account.
    function test_create_byOwnerOfContractAccount_reverts() public {
        BatchAccount account = new BatchAccount(stranger);
        IMissionFactory.MissionAuthorization memory sent = termsOf(address(account));
        prepare(sent);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NotCreator.selector, stranger, address(account)));
        vm.prank(stranger, stranger);
        factory.createAuthorizedFundedMission(sent, signature);
    }

    function test_reclaim_byContractAccount() public {
        BatchAccount account = new BatchAccount(stranger);
        bytes32 missionKey = fund(termsOf(address(account)));
        vm.warp(NOW + RECLAIM_DELAY);
        BatchAccount.Call[] memory calls = new BatchAccount.Call[](1);
        calls[0] = BatchAccount.Call(address(factory), abi.encodeCall(factory.reclaim, (missionKey)));
        vm.prank(stranger);
        account.execute(calls);
        vm.assertEq(usdc.balanceOf(address(account)), REWARD * TARGET);
    }

    function test_close_refundsContractAccount() public {
        BatchAccount account = new BatchAccount(stranger);
        bytes32 missionKey = fund(termsOf(address(account)));
        close(missionKey, 0);
        vm.assertEq(usdc.balanceOf(address(account)), REWARD * TARGET);
    }

    /// @dev An account that acts from its constructor has no code yet.
    function test_create_byAccountUnderConstruction() public {
        bytes32 salt = keccak256("salt");
        address account = address(
            uint160(
                uint256(
                    keccak256(
                        abi.encodePacked(bytes1(0xff), address(this), salt, keccak256(type(UnbornAccount).creationCode))
                    )
                )
            )
        );
        BatchAccount.Call[] memory calls = callsFor(termsOf(account));
        pending.push(calls[0]);
        pending.push(calls[1]);
        vm.assertEq(address(new UnbornAccount{salt: salt}()), account);
        assertFundedBy(account);
    }

    function birthCalls() external view returns (BatchAccount.Call[] memory) {
        return pending;
    }

    // ----------------------------------------------------------------------------------------------- delegated account

    /// @dev A plain key that has signed a delegation to the account code, and sends itself the batch.
    function test_create_byDelegatedKey_inOneCall() public {
        address code = address(new BatchAccount(address(0)));
        IMissionFactory.MissionAuthorization memory sent = termsOf(creator);
        BatchAccount.Call[] memory calls = callsFor(sent);
        vm.signAndAttachDelegation(code, CREATOR_KEY);
        expectFunded(sent);
        vm.prank(creator, creator);
        BatchAccount(creator).execute(calls);

        vm.assertEq(creator.code, delegationTo(code));
        assertFundedBy(creator);
    }

    /// @dev Its plain transactions still work.
    function test_create_byDelegatedKey_plainly() public {
        vm.etch(creator, delegationTo(address(new BatchAccount(address(0)))));
        fund(termsOf(creator));
        assertFundedBy(creator);
    }

    /// @dev Another key with the same delegation code cannot act for the account.
    function test_create_byOtherKeyWithSameDelegation_reverts() public {
        address code = address(new BatchAccount(address(0)));
        vm.etch(creator, delegationTo(code));
        vm.etch(stranger, delegationTo(code));
        IMissionFactory.MissionAuthorization memory sent = termsOf(creator);
        prepare(sent);
        BatchAccount.Call[] memory calls = new BatchAccount.Call[](1);
        calls[0] = BatchAccount.Call(
            address(factory),
            abi.encodeCall(factory.createAuthorizedFundedMission, (sent, signAuthorization(AUTHORIZER_KEY, sent)))
        );
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NotCreator.selector, stranger, creator));
        vm.prank(stranger, stranger);
        BatchAccount(stranger).execute(calls);
    }

    function test_settle_paysContractAndDelegatedAccounts() public {
        bytes32 missionKey = fundMission();
        address account = address(new BatchAccount(stranger));
        vm.etch(stranger, delegationTo(account));
        settle(missionKey, batch(payment(0, account), payment(1, stranger)));
        vm.assertEq(usdc.balanceOf(account), REWARD);
        vm.assertEq(usdc.balanceOf(stranger), REWARD);
    }

    /// @dev A role belongs to a key: a delegation does not change its signatures.
    function test_create_signedByDelegatedAuthorizer() public {
        vm.etch(authorizer, delegationTo(address(new BatchAccount(address(0)))));
        fund(termsOf(creator));
        assertFundedBy(creator);
    }

    /// @dev EIP-7702's designator: what the code of a delegated account is.
    function delegationTo(address code) private pure returns (bytes memory) {
        return abi.encodePacked(hex"ef0100", code);
    }
}
