// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {MissionFactory} from "../src/MissionFactory.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";
import {HookToken} from "./attackers/HookToken.sol";
import {Reenterer} from "./attackers/Reenterer.sol";

/// @dev Neither supported token calls other contracts today, but one of them is upgradeable. From inside every transfer the
/// factory makes, an attacker who is creator and contributor at once tries every entry, each with a call that would go
/// through at any other time.
contract ReentrancyTest is Fixture {
    HookToken private hookToken;
    Reenterer private attacker;

    /// @dev A mission for every entry, all of the attacker, and one for the call that the attack starts from.
    bytes32 private outer;
    bytes32 private toSettle;
    bytes32 private toClose;
    bytes32 private toReclaim;

    uint256 private constant MONEY_ENTRIES = 5;
    uint256 private constant CREDIT = 7;

    function setUp() public override {
        super.setUp();
        hookToken = new HookToken(issuer);
        attacker = new Reenterer();
        attacker.execute(address(hookToken), abi.encodeCall(hookToken.hook, ()));
        useAsServiceToken(address(hookToken));
        hold(100 * REWARD * TARGET);
        toReclaim = fundAsAttacker("to-reclaim");
        vm.warp(NOW + RECLAIM_DELAY);
        outer = fundAsAttacker("outer");
        toSettle = fundAsAttacker("to-settle");
        toClose = fundAsAttacker("to-close");
        bytes32 small = fund("to-claim", address(hookToken), CREDIT, 1);
        hookToken.setRefusing(true);
        settle(small, single(0, address(attacker)));
        hookToken.setRefusing(false);
    }

    function hold(uint256 amount) private {
        vm.prank(issuer);
        hookToken.transfer(address(attacker), amount);
        attacker.execute(address(hookToken), abi.encodeCall(hookToken.approve, (address(factory), amount)));
    }

    function createCall(string memory missionId) private view returns (bytes memory) {
        IMissionFactory.MissionAuthorization memory sent = authorization(missionId, address(hookToken), REWARD, TARGET);
        sent.creator = address(attacker);
        return abi.encodeCall(factory.createAuthorizedFundedMission, (sent, signAuthorization(AUTHORIZER_KEY, sent)));
    }

    function fundAsAttacker(string memory missionId) private returns (bytes32) {
        return abi.decode(attacker.execute(address(factory), createCall(missionId)), (bytes32));
    }

    function settleCall(bytes32 missionKey, IMissionFactory.Payment[] memory payments)
        private
        view
        returns (bytes memory)
    {
        return abi.encodeCall(factory.settle, (missionKey, payments, signSettlement(missionKey, payments)));
    }

    function closeCall(bytes32 missionKey) private view returns (bytes memory) {
        return abi.encodeCall(factory.close, (missionKey, 0, signClose(missionKey, 0)));
    }

    /// @dev The entries that move money, then those that do not.
    function entries() private view returns (Reenterer.Call[] memory calls) {
        bytes[8] memory data = [
            createCall("created-from-inside"),
            settleCall(toSettle, single(0, address(attacker))),
            closeCall(toClose),
            abi.encodeCall(factory.reclaim, (toReclaim)),
            abi.encodeCall(factory.claimDeferred, (address(hookToken), address(attacker))),
            abi.encodeCall(factory.revokeAuthorization, (address(attacker), bytes32("nonce"))),
            abi.encodeCall(factory.setDailyCap, (address(hookToken), 1)),
            abi.encodeCall(factory.pause, ())
        ];
        calls = new Reenterer.Call[](data.length);
        for (uint256 i = 0; i < data.length; ++i) {
            calls[i] = Reenterer.Call(address(factory), data[i]);
        }
    }

    // ----------------------------------------------------------------------------------------------- every entry, from

    function test_create_reentered_reverts() public {
        attacksFail(createCall("outer-create"));
    }

    function test_settle_reentered_reverts() public {
        attacksFail(settleCall(outer, batch(payment(0, address(attacker)), payment(1, stranger))));
        vm.assertEq(hookToken.balanceOf(stranger), REWARD);
        vm.assertEq(factory.missions(outer).paidCount, 2);
    }

    function test_close_reentered_reverts() public {
        attacksFail(closeCall(outer));
    }

    function test_reclaim_reentered_reverts() public {
        vm.warp(block.timestamp + RECLAIM_DELAY);
        attacksFail(abi.encodeCall(factory.reclaim, (outer)));
    }

    function test_claimDeferred_reentered_reverts() public {
        attacksFail(abi.encodeCall(factory.claimDeferred, (address(hookToken), address(attacker))));
        vm.assertEq(factory.deferred(address(hookToken), address(attacker)), 0);
    }

    /// @dev Runs the outer call with all entries tried from inside. It completes; the guard or the missing
    /// role stops the rest. Afterwards the money entries go through, which shows that nothing else had stopped them.
    function attacksFail(bytes memory outerCall) private {
        Reenterer.Call[] memory calls = entries();
        uint256 wealth = attackersWealth();
        attacker.arm(calls);
        attacker.execute(address(factory), outerCall);

        vm.assertFalse(attacker.armed(), "the hook was not called");
        Reenterer.Outcome[] memory outcomes = attacker.outcomes();
        for (uint256 i = 0; i < MONEY_ENTRIES; ++i) {
            vm.assertFalse(outcomes[i].success);
            vm.assertEq(
                outcomes[i].result,
                abi.encodeWithSelector(ReentrancyGuardTransient.ReentrancyGuardReentrantCall.selector)
            );
        }
        vm.assertTrue(outcomes[5].success, "a creator may revoke at any time");
        vm.assertEq(outcomes[6].result, lacksRole(address(attacker), 0x00));
        vm.assertEq(outcomes[7].result, lacksRole(address(attacker), factory.PAUSER_ROLE()));
        assertSolvent();

        bool claimed = factory.deferred(address(hookToken), address(attacker)) == 0;
        for (uint256 i = 0; i < (claimed ? MONEY_ENTRIES - 1 : MONEY_ENTRIES); ++i) {
            attacker.execute(address(factory), calls[i].data);
        }
        assertSolvent();
        vm.assertLe(attackersWealth(), wealth, "the attacker has more than before");
    }

    function missionKeys() private view returns (bytes32[7] memory) {
        return [
            outer,
            toSettle,
            toClose,
            toReclaim,
            keccak256("outer-create"),
            keccak256("created-from-inside"),
            keccak256("to-claim")
        ];
    }

    /// @dev The attacker's balance, credits and refundable money.
    function attackersWealth() private view returns (uint256 sum) {
        sum = hookToken.balanceOf(address(attacker)) + factory.deferred(address(hookToken), address(attacker));
        bytes32[7] memory keys = missionKeys();
        for (uint256 i = 0; i < keys.length; ++i) {
            if (factory.missions(keys[i]).creator == address(attacker)) sum += factory.remaining(keys[i]);
        }
    }

    /// @dev The second sum of the specification; with an equals sign, for nothing was donated.
    function assertSolvent() private view {
        uint256 owed = factory.deferred(address(hookToken), address(attacker));
        bytes32[7] memory keys = missionKeys();
        for (uint256 i = 0; i < keys.length; ++i) {
            owed += factory.remaining(keys[i]);
        }
        vm.assertEq(hookToken.balanceOf(address(factory)), owed);
    }

    // --------------------------------------------------------------------------------------------------- other ways in

    /// @dev Money that is sent while the budget is pulled neither replaces nor increases the budget.
    function test_create_donatedFromInside_reverts() public {
        Reenterer.Call[] memory calls = new Reenterer.Call[](1);
        calls[0] = Reenterer.Call(address(hookToken), abi.encodeCall(hookToken.transfer, (address(factory), 1)));
        attacker.arm(calls);
        bytes memory data = createCall("outer-create");
        vm.expectRevert(
            abi.encodeWithSelector(
                IMissionFactory.InexactFunding.selector, address(hookToken), REWARD * TARGET, REWARD * TARGET + 1
            )
        );
        attacker.execute(address(factory), data);
    }

    /// @dev A view call from inside the first transfer of a batch sees the whole batch done.
    function test_settle_viewsFromInsideSeeTheWholeBatch() public {
        Reenterer.Call[] memory calls = new Reenterer.Call[](4);
        calls[0] = Reenterer.Call(address(factory), abi.encodeCall(factory.isPaid, (outer, 1)));
        calls[1] = Reenterer.Call(address(factory), abi.encodeCall(factory.remaining, (outer)));
        calls[2] = Reenterer.Call(address(factory), abi.encodeCall(factory.missions, (outer)));
        calls[3] = Reenterer.Call(address(factory), abi.encodeCall(factory.dailyCaps, (address(hookToken))));
        attacker.arm(calls);
        settle(outer, batch(payment(0, address(attacker)), payment(1, stranger)));

        Reenterer.Outcome[] memory outcomes = attacker.outcomes();
        vm.assertTrue(abi.decode(outcomes[0].result, (bool)));
        vm.assertEq(abi.decode(outcomes[1].result, (uint256)), REWARD * (TARGET - 2));
        vm.assertEq(abi.decode(outcomes[2].result, (IMissionFactory.Mission)).paidCount, 2);
        (, uint256 spent,) = abi.decode(outcomes[3].result, (uint256, uint256, uint256));
        vm.assertEq(spent, CREDIT + 2 * REWARD);
    }

    function test_close_viewsFromInsideSeeTheEnd() public {
        Reenterer.Call[] memory calls = new Reenterer.Call[](1);
        calls[0] = Reenterer.Call(address(factory), abi.encodeCall(factory.remaining, (outer)));
        attacker.arm(calls);
        attacker.execute(address(factory), closeCall(outer));
        vm.assertEq(abi.decode(attacker.outcomes()[0].result, (uint256)), 0);
    }

    /// @dev Even with the roles, stopping everything from inside a batch stops what comes next, not the batch.
    function test_settle_stoppedFromInsideByRoleHolder() public {
        factory = new MissionFactory(
            address(attacker),
            0,
            authorizer,
            settler,
            address(attacker),
            address(hookToken),
            address(usdc),
            NO_CAP,
            NO_CAP
        );
        hold(REWARD * TARGET);
        outer = fundAsAttacker("outer");
        Reenterer.Call[] memory calls = new Reenterer.Call[](2);
        calls[0] = Reenterer.Call(address(factory), abi.encodeCall(factory.setDailyCap, (address(hookToken), 0)));
        calls[1] = Reenterer.Call(address(factory), abi.encodeCall(factory.pause, ()));
        attacker.arm(calls);
        settle(outer, batch(payment(0, address(attacker)), payment(1, stranger)));

        vm.assertTrue(attacker.outcomes()[0].success && attacker.outcomes()[1].success);
        vm.assertEq(hookToken.balanceOf(stranger), REWARD);
        vm.assertTrue(factory.paused());
        (uint256 limit, uint256 spent,) = factory.dailyCaps(address(hookToken));
        vm.assertEq(limit, 0);
        vm.assertEq(spent, 2 * REWARD);
        vm.assertEq(hookToken.balanceOf(address(factory)), factory.remaining(outer));
    }
}
