// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Initializable} from "@openzeppelin/contracts/proxy/utils/Initializable.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ServiceToken} from "../src/ServiceToken.sol";
import {TestUSDC} from "../src/testing/TestUSDC.sol";
import {Base} from "./Base.t.sol";

contract ServiceTokenTest is Base {
    function test_metadata() public view {
        vm.assertEq(serviceToken.name(), "Service Token");
        vm.assertEq(serviceToken.symbol(), "SERVICE");
        vm.assertEq(serviceToken.decimals(), 18);
    }

    function test_supply_isTheHolders() public {
        ServiceToken token = new ServiceToken("Name", "SYM", stranger, 7);
        vm.assertEq(token.totalSupply(), 7);
        vm.assertEq(token.balanceOf(stranger), 7);
    }

    function test_permit_setsTheAllowance() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(CREATOR_KEY, permitDigest(5, block.timestamp));
        serviceToken.permit(creator, stranger, 5, block.timestamp, v, r, s);
        vm.assertEq(serviceToken.allowance(creator, stranger), 5);
        vm.assertEq(serviceToken.nonces(creator), 1);
    }

    function test_permit_strangersSignature_reverts() public {
        (uint8 v, bytes32 r, bytes32 s) = vm.sign(STRANGER_KEY, permitDigest(5, block.timestamp));
        vm.expectRevert();
        serviceToken.permit(creator, stranger, 5, block.timestamp, v, r, s);
    }

    function permitDigest(uint256 value, uint256 deadline) private view returns (bytes32) {
        bytes32 structHash = keccak256(
            abi.encode(
                keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"),
                creator,
                stranger,
                value,
                serviceToken.nonces(creator),
                deadline
            )
        );
        return keccak256(abi.encodePacked(hex"1901", serviceToken.DOMAIN_SEPARATOR(), structHash));
    }
}

contract TestUSDCTest is Base {
    function setUp() public override {
        super.setUp();
        give(address(usdc), creator, 100);
    }

    function test_metadata() public view {
        vm.assertEq(usdc.name(), "Test USDC");
        vm.assertEq(usdc.symbol(), "USDC");
        vm.assertEq(usdc.decimals(), 6);
        vm.assertEq(usdc.owner(), issuer);
    }

    function test_initialize_again_reverts() public {
        vm.expectRevert(Initializable.InvalidInitialization.selector);
        usdc.initialize(stranger);
    }

    function test_initialize_ofTheImplementation_reverts() public {
        TestUSDC implementation = new TestUSDC();
        vm.expectRevert(Initializable.InvalidInitialization.selector);
        implementation.initialize(stranger);
    }

    function test_mint_byMinter() public {
        vm.prank(issuer);
        usdc.setMinter(stranger, true);
        vm.prank(stranger);
        usdc.mint(stranger, 3);
        vm.assertEq(usdc.balanceOf(stranger), 3);
        vm.assertEq(usdc.totalSupply(), 103);
    }

    function test_mint_byStranger_reverts() public {
        vm.expectRevert(abi.encodeWithSelector(TestUSDC.NotMinter.selector, stranger));
        vm.prank(stranger);
        usdc.mint(stranger, 1);
    }

    function test_issuersPowers_byStranger_revert() public {
        bytes memory refusal = abi.encodeWithSelector(TestUSDC.NotOwner.selector, stranger);
        vm.startPrank(stranger);
        vm.expectRevert(refusal);
        usdc.pause();
        vm.expectRevert(refusal);
        usdc.unpause();
        vm.expectRevert(refusal);
        usdc.setMinter(stranger, true);
        vm.expectRevert(refusal);
        usdc.setDenylisted(creator, true);
        vm.stopPrank();
    }

    function test_denylisted_cannotSendReceiveApproveOrSpend() public {
        vm.prank(creator);
        usdc.approve(stranger, 10);
        vm.prank(issuer);
        usdc.setDenylisted(stranger, true);
        bytes memory refusal = abi.encodeWithSelector(TestUSDC.Denylisted.selector, stranger);

        vm.expectRevert(refusal);
        vm.prank(creator);
        usdc.transfer(stranger, 1);
        vm.startPrank(stranger);
        vm.expectRevert(refusal);
        usdc.transfer(creator, 0);
        vm.expectRevert(refusal);
        usdc.approve(creator, 1);
        vm.expectRevert(refusal);
        usdc.transferFrom(creator, issuer, 1);
        vm.stopPrank();

        vm.prank(issuer);
        usdc.setDenylisted(stranger, false);
        vm.prank(stranger);
        usdc.transferFrom(creator, issuer, 1);
        vm.assertEq(usdc.balanceOf(issuer), 1);
    }

    function test_paused_nothingMoves() public {
        vm.startPrank(issuer);
        usdc.pause();
        vm.expectRevert(Pausable.EnforcedPause.selector);
        usdc.mint(issuer, 1);
        vm.stopPrank();
        vm.startPrank(creator);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        usdc.transfer(stranger, 1);
        vm.expectRevert(Pausable.EnforcedPause.selector);
        usdc.approve(stranger, 1);
        vm.stopPrank();

        vm.prank(issuer);
        usdc.unpause();
        vm.prank(creator);
        usdc.transfer(stranger, 1);
        vm.assertEq(usdc.balanceOf(stranger), 1);
    }
}
