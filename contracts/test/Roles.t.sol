// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    IAccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/IAccessControlDefaultAdminRules.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {MissionFactory} from "../src/MissionFactory.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev Roles: the keys are separate, none can act for another, and the service can change them.
contract RolesTest is Fixture {
    bytes32 private constant ADMIN_ROLE = 0x00;

    /// @dev All accounts, with their roles.
    function everybody() private view returns (address[6] memory) {
        return [admin, authorizer, settler, pauser, creator, stranger];
    }

    // ------------------------------------------------------------------------------------------------------ deployment

    function test_constructor_grantsTheRoles() public view {
        bytes32[4] memory roles = [ADMIN_ROLE, factory.AUTHORIZER_ROLE(), factory.SETTLER_ROLE(), factory.PAUSER_ROLE()];
        address[6] memory accounts = everybody();
        for (uint256 i = 0; i < accounts.length; ++i) {
            for (uint256 j = 0; j < roles.length; ++j) {
                vm.assertEq(factory.hasRole(roles[j], accounts[i]), i == j);
            }
        }
        vm.assertFalse(factory.hasRole(factory.SETTLER_ROLE(), address(0)));
        vm.assertEq(factory.defaultAdminDelay(), 2 days);
        vm.assertEq(factory.serviceToken(), address(serviceToken));
        vm.assertEq(factory.usdc(), address(usdc));
    }

    function test_constructor_setsTheCaps() public {
        MissionFactory capped =
            new MissionFactory(admin, 0, authorizer, settler, pauser, address(serviceToken), address(usdc), 11, 22);
        (uint256 serviceLimit,,) = capped.dailyCaps(address(serviceToken));
        (uint256 usdcLimit,,) = capped.dailyCaps(address(usdc));
        vm.assertEq(serviceLimit, 11);
        vm.assertEq(usdcLimit, 22);
    }

    function test_constructor_withoutRoleHolder_reverts() public {
        deployReverts([address(0), settler, pauser, address(serviceToken), address(usdc)], missing("AUTHORIZER_ROLE"));
        deployReverts([authorizer, address(0), pauser, address(serviceToken), address(usdc)], missing("SETTLER_ROLE"));
        deployReverts([authorizer, settler, address(0), address(serviceToken), address(usdc)], missing("PAUSER_ROLE"));
    }

    function test_constructor_badTokens_reverts() public {
        deployReverts([authorizer, settler, pauser, stranger, address(usdc)], badToken(stranger));
        deployReverts([authorizer, settler, pauser, address(serviceToken), stranger], badToken(stranger));
        deployReverts([authorizer, settler, pauser, address(usdc), address(usdc)], badToken(address(usdc)));
    }

    function test_constructor_withoutAdmin_reverts() public {
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessControlDefaultAdminRules.AccessControlInvalidDefaultAdmin.selector, address(0)
            )
        );
        new MissionFactory(address(0), 0, authorizer, settler, pauser, address(serviceToken), address(usdc), 0, 0);
    }

    function deployReverts(address[5] memory given, bytes memory reason) private {
        vm.expectRevert(reason);
        new MissionFactory(admin, 0, given[0], given[1], given[2], given[3], given[4], 0, 0);
    }

    function missing(string memory role) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IMissionFactory.MissingRoleHolder.selector, keccak256(bytes(role)));
    }

    function badToken(address token) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IMissionFactory.InvalidToken.selector, token);
    }

    // ------------------------------------------------------------------------------------------------------ separation

    function test_setDailyCap_byAnyoneButAdmin_reverts() public {
        bytes memory data = abi.encodeCall(factory.setDailyCap, (address(usdc), 1));
        onlyFor(admin, ADMIN_ROLE, data);
    }

    function test_pause_byAnyoneButPauser_reverts() public {
        onlyFor(pauser, factory.PAUSER_ROLE(), abi.encodeCall(factory.pause, ()));
        vm.assertTrue(factory.paused());
    }

    /// @dev The PAUSER cannot lift the pause either.
    function test_unpause_byAnyoneButAdmin_reverts() public {
        pauseFactory();
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.unpause, ()));
        vm.assertFalse(factory.paused());
    }

    function test_grantRole_byAnyoneButAdmin_reverts() public {
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.grantRole, (factory.SETTLER_ROLE(), stranger)));
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.grantRole, (factory.AUTHORIZER_ROLE(), stranger)));
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.grantRole, (factory.PAUSER_ROLE(), stranger)));
    }

    function test_revokeRole_byAnyoneButAdmin_reverts() public {
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.revokeRole, (factory.SETTLER_ROLE(), settler)));
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.revokeRole, (factory.AUTHORIZER_ROLE(), authorizer)));
        onlyFor(admin, ADMIN_ROLE, abi.encodeCall(factory.revokeRole, (factory.PAUSER_ROLE(), pauser)));
    }

    /// @dev Every other account is refused with the missing role; then the right one succeeds.
    function onlyFor(address allowed, bytes32 role, bytes memory data) private {
        address[6] memory accounts = everybody();
        for (uint256 i = 0; i < accounts.length; ++i) {
            if (accounts[i] == allowed) continue;
            (bool refused, bytes memory reason) = callAs(accounts[i], data);
            vm.assertFalse(refused);
            vm.assertEq(reason, lacksRole(accounts[i], role));
        }
        (bool success,) = callAs(allowed, data);
        vm.assertTrue(success);
    }

    function callAs(address account, bytes memory data) private returns (bool success, bytes memory result) {
        vm.prank(account);
        return address(factory).call(data);
    }

    function test_pause_twice_reverts() public {
        pauseFactory();
        vm.expectRevert(abi.encodeWithSelector(Pausable.EnforcedPause.selector));
        pauseFactory();
    }

    function test_unpause_whileRunning_reverts() public {
        vm.expectRevert(abi.encodeWithSelector(Pausable.ExpectedPause.selector));
        vm.prank(admin);
        factory.unpause();
    }

    // --------------------------------------------------------------------------------------------- revokeAuthorization

    function test_revokeAuthorization_byCreatorAndAuthorizer() public {
        address[2] memory allowed = [creator, authorizer];
        for (uint256 i = 0; i < allowed.length; ++i) {
            bytes32 nonce = bytes32(i);
            vm.assertFalse(factory.revoked(creator, nonce));
            vm.recordLogs();
            vm.expectEmit(address(factory));
            emit IMissionFactory.AuthorizationRevoked(creator, nonce);
            vm.prank(allowed[i]);
            factory.revokeAuthorization(creator, nonce);
            vm.assertEq(factoryEvents(), 1);
            vm.assertTrue(factory.revoked(creator, nonce));
            vm.assertFalse(factory.revoked(authorizer, nonce));
        }
    }

    function test_revokeAuthorization_byAnyoneElse_reverts() public {
        address[4] memory others = [stranger, admin, settler, pauser];
        for (uint256 i = 0; i < others.length; ++i) {
            vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NotCreatorOrAuthorizer.selector, others[i], creator));
            vm.prank(others[i]);
            factory.revokeAuthorization(creator, 0);
        }
    }

    function test_revokeAuthorization_byFormerAuthorizer_reverts() public {
        revokeRole(factory.AUTHORIZER_ROLE(), authorizer);
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.NotCreatorOrAuthorizer.selector, authorizer, creator));
        vm.prank(authorizer);
        factory.revokeAuthorization(creator, 0);
    }

    function test_revokeAuthorization_pausedAndTwice() public {
        pauseFactory();
        vm.startPrank(creator);
        factory.revokeAuthorization(creator, 0);
        factory.revokeAuthorization(creator, 0);
        vm.stopPrank();
        vm.assertTrue(factory.revoked(creator, 0));
    }

    // -------------------------------------------------------------------------------------------------------- rotation

    uint256 private constant NEW_SETTLER_KEY = uint256(keccak256("new settler"));

    function grantRole(bytes32 role, address account) private {
        vm.prank(admin);
        factory.grantRole(role, account);
    }

    function revokeRole(bytes32 role, address account) private {
        vm.prank(admin);
        factory.revokeRole(role, account);
    }

    /// @dev The order the documentation gives: grant new, sign open receipts again, revoke old.
    function test_settle_settlerRotatedWithOpenReceipts() public {
        bytes32 missionKey = fundMission();
        bytes32 role = factory.SETTLER_ROLE();
        IMissionFactory.Payment[] memory redeemedEarly = paymentsFrom(0, 1);
        IMissionFactory.Payment[] memory open = paymentsFrom(1, 1);
        IMissionFactory.Payment[] memory redeemedBetween = paymentsFrom(2, 1);
        bytes memory early = signSettlement(missionKey, redeemedEarly);
        bytes memory oldReceipt = signSettlement(missionKey, open);
        bytes memory between = signSettlement(missionKey, redeemedBetween);

        grantRole(role, vm.addr(NEW_SETTLER_KEY));
        bytes memory newReceipt = sign(NEW_SETTLER_KEY, factory.hashSettlement(missionKey, open));
        factory.settle(missionKey, redeemedEarly, early);
        factory.settle(missionKey, redeemedBetween, between);
        revokeRole(role, settler);

        settleReverts(missionKey, open, oldReceipt, unauthorized(settler, role));
        factory.settle(missionKey, open, newReceipt);
        vm.assertEq(usdc.balanceOf(contributor(1)), REWARD);
        vm.assertEq(factory.missions(missionKey).paidCount, 3);
    }

    /// @dev While both keys are valid, both receipts are, and the slot is still paid once.
    function test_settle_oldAndNewReceiptPayOnce() public {
        bytes32 missionKey = fundMission();
        IMissionFactory.Payment[] memory receipt = paymentsFrom(0, 1);
        grantRole(factory.SETTLER_ROLE(), vm.addr(NEW_SETTLER_KEY));
        bytes memory newReceipt = sign(NEW_SETTLER_KEY, factory.hashSettlement(missionKey, receipt));
        settle(missionKey, receipt);
        factory.settle(missionKey, receipt, newReceipt);
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
    }

    function test_close_signedByRevokedSettler_reverts() public {
        bytes32 missionKey = fundMission();
        bytes memory signature = signClose(missionKey, 0);
        revokeRole(factory.SETTLER_ROLE(), settler);
        closeReverts(missionKey, 0, signature, unauthorized(settler, factory.SETTLER_ROLE()));
    }

    /// @dev A stolen key can renounce its role itself.
    function test_settle_signedByRenouncedSettler_reverts() public {
        bytes32 missionKey = fundMission();
        bytes32 role = factory.SETTLER_ROLE();
        vm.prank(settler);
        factory.renounceRole(role, settler);
        settleReverts(missionKey, paymentsFrom(0, 1), unauthorized(settler, role));
    }

    function test_acceptDefaultAdminTransfer_takesTheDelay() public {
        vm.prank(admin);
        factory.beginDefaultAdminTransfer(stranger);
        uint48 schedule = uint48(NOW + 2 days);
        vm.warp(schedule);
        vm.expectRevert(
            abi.encodeWithSelector(
                IAccessControlDefaultAdminRules.AccessControlEnforcedDefaultAdminDelay.selector, schedule
            )
        );
        vm.prank(stranger);
        factory.acceptDefaultAdminTransfer();

        vm.warp(schedule + 1);
        vm.prank(stranger);
        factory.acceptDefaultAdminTransfer();
        vm.assertTrue(factory.hasRole(ADMIN_ROLE, stranger));
        vm.assertFalse(factory.hasRole(ADMIN_ROLE, admin));
    }
}
