// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {Fixture} from "./Fixture.sol";

/// @dev The daily cap limits what a stolen SETTLER key can pay out, and nothing else.
contract CapTest is Fixture {
    bytes32 private missionKey;

    /// @dev Midnight (UTC) after NOW.
    uint256 private constant MIDNIGHT = (NOW / 1 days + 1) * 1 days;

    function setUp() public override {
        super.setUp();
        missionKey = fund(MISSION, address(usdc), REWARD, 1000);
    }

    function setCap(address token, uint256 limit) private {
        vm.prank(admin);
        factory.setDailyCap(token, limit);
    }

    function capReverts(IMissionFactory.Payment[] memory payments, uint256 limit, uint256 attempted) private {
        settleReverts(
            missionKey,
            payments,
            abi.encodeWithSelector(IMissionFactory.DailyCapExceeded.selector, address(usdc), limit, attempted)
        );
    }

    function assertCap(address token, uint256 limit, uint256 spent) private view {
        (uint256 actualLimit, uint256 actualSpent, uint256 day) = factory.dailyCaps(token);
        vm.assertEq(actualLimit, limit, "limit");
        vm.assertEq(actualSpent, spent, "spent");
        vm.assertEq(day, block.timestamp / 1 days, "day");
    }

    // --------------------------------------------------------------------------------------------------------- setting

    function test_setDailyCap_isSetAndTold() public {
        vm.recordLogs();
        vm.expectEmit(address(factory));
        emit IMissionFactory.DailyCapSet(address(usdc), 123);
        setCap(address(usdc), 123);
        vm.assertEq(factoryEvents(), 1);
        assertCap(address(usdc), 123, 0);
        assertCap(address(serviceToken), NO_CAP, 0);
    }

    function test_setDailyCap_noLimit() public {
        setCap(address(usdc), 0);
        vm.expectEmit(address(factory));
        emit IMissionFactory.DailyCapSet(address(usdc), type(uint256).max);
        setCap(address(usdc), type(uint256).max);
        assertCap(address(usdc), type(uint256).max, 0);
    }

    function test_setDailyCap_largest() public {
        uint256 largest = uint256(type(uint112).max) - 1;
        setCap(address(usdc), largest);
        assertCap(address(usdc), largest, 0);
    }

    function test_setDailyCap_tooLarge_reverts() public {
        tooLarge(uint256(type(uint112).max));
    }

    function test_setDailyCap_almostNoLimit_reverts() public {
        tooLarge(type(uint256).max - 1);
    }

    function tooLarge(uint256 limit) private {
        vm.expectRevert(
            abi.encodeWithSelector(IMissionFactory.DailyCapTooLarge.selector, limit, uint256(type(uint112).max) - 1)
        );
        setCap(address(usdc), limit);
    }

    function test_setDailyCap_unsupportedToken_reverts() public {
        vm.expectRevert(abi.encodeWithSelector(IMissionFactory.UnsupportedToken.selector, stranger));
        setCap(stranger, 1);
    }

    // -------------------------------------------------------------------------------------------------------- spending

    function test_settle_upToTheCap() public {
        setCap(address(usdc), 3 * REWARD);
        settle(missionKey, paymentsFrom(0, 2));
        assertCap(address(usdc), 3 * REWARD, 2 * REWARD);
        settle(missionKey, paymentsFrom(2, 1));
        assertCap(address(usdc), 3 * REWARD, 3 * REWARD);
    }

    function test_settle_overTheCap_reverts() public {
        setCap(address(usdc), 3 * REWARD - 1);
        settle(missionKey, paymentsFrom(0, 2));
        capReverts(paymentsFrom(2, 1), 3 * REWARD - 1, 3 * REWARD);
        vm.assertFalse(factory.isPaid(missionKey, 2));
        assertCap(address(usdc), 3 * REWARD - 1, 2 * REWARD);
    }

    /// @dev A batch above the cap can never pay; its parts can.
    function test_settle_batchOverTheCap_reverts() public {
        setCap(address(usdc), 2 * REWARD);
        capReverts(paymentsFrom(0, 3), 2 * REWARD, 3 * REWARD);
        settle(missionKey, paymentsFrom(0, 2));
    }

    function test_settle_capOfZero_reverts() public {
        setCap(address(usdc), 0);
        capReverts(paymentsFrom(0, 1), 0, REWARD);
    }

    /// @dev Retries and overlaps spend only what they newly pay.
    function test_settle_retryIsNotCharged() public {
        setCap(address(usdc), 3 * REWARD);
        settle(missionKey, paymentsFrom(0, 2));
        settle(missionKey, paymentsFrom(0, 2));
        settle(missionKey, paymentsFrom(1, 2));
        assertCap(address(usdc), 3 * REWARD, 3 * REWARD);
    }

    function test_settle_retryUnderACapOfZero() public {
        settle(missionKey, paymentsFrom(0, 2));
        setCap(address(usdc), 0);
        settle(missionKey, paymentsFrom(0, 2));
        vm.assertEq(usdc.balanceOf(contributor(0)), REWARD);
    }

    /// @dev A credit counts when it is made; its claim does not count again.
    function test_settle_deferredPayoutsCount() public {
        setCap(address(usdc), REWARD);
        setDenylisted(contributor(0), true);
        settle(missionKey, paymentsFrom(0, 1));
        capReverts(paymentsFrom(1, 1), REWARD, 2 * REWARD);

        setDenylisted(contributor(0), false);
        factory.claimDeferred(address(usdc), contributor(0));
        assertCap(address(usdc), REWARD, REWARD);
    }

    function test_settle_missionsShareTheCap_reverts() public {
        bytes32 other = fund("mission-2", address(usdc), REWARD, 10);
        setCap(address(usdc), 2 * REWARD);
        settle(other, paymentsFrom(0, 2));
        capReverts(paymentsFrom(0, 1), 2 * REWARD, 3 * REWARD);
    }

    function test_settle_tokensDoNotShareTheCap() public {
        bytes32 other = fund("mission-2", address(serviceToken), REWARD, 10);
        setCap(address(usdc), 0);
        settle(other, paymentsFrom(0, 2));
        assertCap(address(serviceToken), NO_CAP, 2 * REWARD);
        assertCap(address(usdc), 0, 0);
    }

    // -------------------------------------------------------------------------------------------------------- midnight

    function test_settle_overMidnight() public {
        setCap(address(usdc), 2 * REWARD);
        vm.warp(MIDNIGHT - 1);
        settle(missionKey, paymentsFrom(0, 2));
        capReverts(paymentsFrom(2, 1), 2 * REWARD, 3 * REWARD);

        vm.warp(MIDNIGHT);
        assertCap(address(usdc), 2 * REWARD, 0);
        settle(missionKey, paymentsFrom(2, 2));
        assertCap(address(usdc), 2 * REWARD, 2 * REWARD);
        capReverts(paymentsFrom(4, 1), 2 * REWARD, 3 * REWARD);
    }

    /// @dev Unused amounts do not carry over to the next day.
    function test_settle_idleDaysAddNothing_reverts() public {
        setCap(address(usdc), 2 * REWARD);
        vm.warp(MIDNIGHT + 30 days);
        capReverts(paymentsFrom(0, 3), 2 * REWARD, 3 * REWARD);
    }

    // ---------------------------------------------------------------------------------------------- lowered and raised

    function test_settle_capLoweredBelowTodaysSum_reverts() public {
        settle(missionKey, paymentsFrom(0, 3));
        setCap(address(usdc), 2 * REWARD);
        assertCap(address(usdc), 2 * REWARD, 3 * REWARD);
        capReverts(paymentsFrom(3, 1), 2 * REWARD, 4 * REWARD);

        vm.warp(MIDNIGHT);
        settle(missionKey, paymentsFrom(3, 2));
    }

    function test_settle_capRaised() public {
        setCap(address(usdc), REWARD);
        settle(missionKey, paymentsFrom(0, 1));
        capReverts(paymentsFrom(1, 1), REWARD, 2 * REWARD);
        setCap(address(usdc), 2 * REWARD);
        settle(missionKey, paymentsFrom(1, 1));
        assertCap(address(usdc), 2 * REWARD, 2 * REWARD);
    }

    function test_settle_capLifted() public {
        setCap(address(usdc), 0);
        setCap(address(usdc), NO_CAP);
        settle(missionKey, paymentsFrom(0, 100));
        assertCap(address(usdc), NO_CAP, 100 * REWARD);
    }

    /// @dev Without a limit the day's sum may outgrow its 112 bits. It then stays above every limit until midnight.
    function test_settle_sumBeyond112Bits_reverts() public {
        settle(missionKey, paymentsFrom(0, 1));
        storeSpent(REWARD, uint256(type(uint112).max) - REWARD / 2);
        settle(missionKey, paymentsFrom(1, 1));
        assertCap(address(usdc), NO_CAP, type(uint112).max);
        settle(missionKey, paymentsFrom(2, 1));
        assertCap(address(usdc), NO_CAP, type(uint112).max);

        uint256 largest = uint256(type(uint112).max) - 1;
        setCap(address(usdc), largest);
        capReverts(paymentsFrom(3, 1), largest, uint256(type(uint112).max) + REWARD);
        vm.warp(MIDNIGHT);
        settle(missionKey, paymentsFrom(3, 1));
    }

    /// @dev Writes today's sum into the one word that holds limit, sum and day, wherever the mapping lies; settling
    /// that much would take tens of thousands of payments.
    function storeSpent(uint256 from, uint256 to) private {
        uint256 word = uint256(type(uint112).max) | (from << 112) | ((block.timestamp / 1 days) << 224);
        for (uint256 place = 0; place < 32; ++place) {
            bytes32 slot = keccak256(abi.encode(address(usdc), place));
            if (vm.load(address(factory), slot) != bytes32(word)) continue;
            vm.store(address(factory), slot, bytes32(word - (from << 112) + (to << 112)));
            assertCap(address(usdc), NO_CAP, to);
            return;
        }
        revert("no word holds the daily cap");
    }

    // -------------------------------------------------------------------------------------------------- refunds exempt

    function test_close_isExempt() public {
        setCap(address(usdc), 0);
        close(missionKey, 0);
        vm.assertEq(usdc.balanceOf(creator), 1000 * REWARD);
        assertCap(address(usdc), 0, 0);
    }

    function test_reclaim_isExempt() public {
        setCap(address(usdc), 0);
        vm.warp(NOW + RECLAIM_DELAY);
        vm.prank(creator);
        factory.reclaim(missionKey);
        vm.assertEq(usdc.balanceOf(creator), 1000 * REWARD);
        assertCap(address(usdc), 0, 0);
    }
}
