// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {IMissionFactory} from "../src/interfaces/IMissionFactory.sol";
import {TestUSDC} from "../src/testing/TestUSDC.sol";
import {Fixture} from "./Fixture.sol";
import {Vm} from "./Base.t.sol";

/// @dev Uses a factory at random: accounts fund, settle, retry, close, reclaim, claim, donate, pause and interfere.
/// Before every call it works out from its own books what must come of it, afterwards it enters into them what the
/// events say has come of it. It judges nothing itself: a difference is kept as `surprise`, for the invariant to fail
/// on.
contract InvariantHandler is Fixture {
    /// @dev The recorded state of a mission.
    struct Entry {
        address token;
        address creator;
        uint256 reward;
        uint256 target;
        uint256 reclaimAfter;
        uint256 paidSlots;
        uint256 paidOut;
        IMissionFactory.CloseReason ended;
        uint256 refund;
    }

    struct Batch {
        bytes32 missionKey;
        IMissionFactory.Payment[] payments;
        bytes signature;
    }

    uint256 private constant WEALTH = 1e32;
    uint256 private constant NONCES = 100;
    uint256 private constant MAX_OBSTACLE_AGE = 6;
    /// @dev Not ended below that number, so that there is always something to pay.
    uint256 private constant MIN_OPEN = 3;

    bytes32[] private missionKeys;
    mapping(bytes32 missionKey => Entry) private entries;
    mapping(bytes32 missionKey => mapping(uint256 slot => uint256)) private timesPaid;
    mapping(address token => mapping(address account => uint256)) private walletOf;
    mapping(address token => mapping(address account => uint256)) private creditOf;
    mapping(address token => uint256) public donated;
    mapping(address token => uint256) public capOf;
    mapping(address token => mapping(uint256 day => uint256)) public spentOn;
    Batch[] private batches;

    /// @dev The first difference between the books and the factory.
    string public surprise;
    /// @dev The highest of all `timesPaid`.
    uint256 public mostTimesPaid;
    /// @dev How often anything was tried.
    uint256 public actions;
    /// @dev How often each kind of action succeeded.
    mapping(string what => uint256) public count;

    address[2] private tokens;
    address[7] private people;
    uint256 private openMissions;
    uint256 private clock;
    uint256 private obstacleAge;

    function setUp() public override {
        super.setUp();
        clock = NOW;
        tokens = [address(serviceToken), address(usdc)];
        people = [creator, stranger, contributor(1), contributor(2), contributor(3), contributor(4), settler];
        for (uint256 i = 0; i < people.length; ++i) {
            for (uint256 j = 0; j < tokens.length; ++j) {
                give(tokens[j], people[i], WEALTH / people.length);
                walletOf[tokens[j]][people[i]] = WEALTH / people.length;
                capOf[tokens[j]] = NO_CAP;
                vm.prank(people[i]);
                TestUSDC(tokens[j]).approve(address(factory), type(uint256).max);
            }
        }
        for (uint256 i = 0; i < MIN_OPEN; ++i) {
            this.create(i);
        }
    }

    /// @dev Every action runs at the handler's own time, and no obstacle to all payments lasts, so that
    /// a run does not only wait.
    modifier acts() {
        ++actions;
        vm.warp(clock);
        bool obstacle = factory.paused() || usdc.paused() || usdc.isDenylisted(address(factory))
            || capOf[tokens[0]] == 0 || capOf[tokens[1]] == 0;
        obstacleAge = obstacle ? obstacleAge + 1 : 0;
        if (obstacleAge > MAX_OBSTACLE_AGE) liftObstacles();
        _;
    }

    function liftObstacles() private {
        obstacleAge = 0;
        if (factory.paused()) setFactoryPaused(false);
        if (usdc.paused()) unpauseToken();
        setDenylisted(address(factory), false);
        putCap(tokens[0], NO_CAP);
        putCap(tokens[1], NO_CAP);
    }

    // --------------------------------------------------------------------------------------------------------- funding

    function create(uint256 seed) external acts {
        IMissionFactory.MissionAuthorization memory sent = randomTerms(seed);
        bytes memory signature = signAuthorization(AUTHORIZER_KEY, sent);
        bytes4 refusal = refusalOfCreate(sent);
        vm.prank(sent.creator);
        try factory.createAuthorizedFundedMission(sent, signature) returns (bytes32 missionKey) {
            came("created", refusal, 0);
            missionKeys.push(missionKey);
            ++openMissions;
            Entry storage entry = entries[missionKey];
            entry.token = sent.token;
            entry.creator = sent.creator;
            entry.reward = sent.rewardPerSubmission;
            entry.target = sent.targetCount;
            entry.reclaimAfter = clock + RECLAIM_DELAY;
            walletOf[sent.token][sent.creator] -= entry.reward * entry.target;
        } catch (bytes memory reason) {
            came("create refused", refusal, bytes4(reason));
        }
    }

    /// @dev Small and large missions; now and then one that exists.
    function randomTerms(uint256 seed) private view returns (IMissionFactory.MissionAuthorization memory sent) {
        uint256 number = chance(seed, "again", 10) ? seed % (missionKeys.length + 1) : missionKeys.length;
        uint256 largest = chance(seed, "small", 3) ? 12 : 600;
        sent = authorization(
            string.concat("mission-", vm.toString(number)),
            tokens[draw(seed, "token") % 2],
            1 + draw(seed, "reward") % 1e12,
            1 + draw(seed, "target") % largest
        );
        sent.creator = people[draw(seed, "creator") % 3];
        sent.nonce = bytes32(draw(seed, "nonce") % NONCES);
        sent.deadline = clock + draw(seed, "deadline") % (1 days + 1);
    }

    function refusalOfCreate(IMissionFactory.MissionAuthorization memory sent) private view returns (bytes4) {
        if (factory.paused()) return Pausable.EnforcedPause.selector;
        if (entries[keccak256(bytes(sent.missionId))].target != 0) {
            return IMissionFactory.MissionAlreadyFunded.selector;
        }
        if (factory.revoked(sent.creator, sent.nonce)) return IMissionFactory.NonceRevoked.selector;
        if (sent.token != address(usdc)) return 0;
        if (usdc.isDenylisted(address(factory))) return TestUSDC.Denylisted.selector;
        return refusalOfToken(sent.token, sent.creator);
    }

    function revoke(uint256 seed) external acts {
        address account = people[draw(seed, "creator") % 3];
        vm.prank(chance(seed, "authorizer", 2) ? authorizer : account);
        factory.revokeAuthorization(account, bytes32(draw(seed, "nonce") % NONCES));
        ++count["revoked"];
    }

    // ------------------------------------------------------------------------------------------------------ settlement

    /// @dev A fresh batch: neighbouring slots, so that batches overlap and repeat slots, at times slots far apart.
    function settle(uint256 seed) external acts {
        bytes32 missionKey = pickMission(seed);
        uint256 target = entries[missionKey].target;
        uint256 start = draw(seed, "start") % target;
        uint256 reach = chance(seed, "wide", 4) ? target : 6;
        IMissionFactory.Payment[] memory payments = new IMissionFactory.Payment[](1 + draw(seed, "length") % 8);
        for (uint256 i = 0; i < payments.length; ++i) {
            uint256 luck = draw(seed, vm.toString(i));
            payments[i] = payment((start + luck % reach) % target, people[(luck >> 128) % people.length]);
        }
        if (chance(seed, "beyond", 25)) payments[payments.length - 1].slot = uint24(target);
        Batch storage signed = batches.push();
        signed.missionKey = missionKey;
        signed.signature = signSettlement(missionKey, payments);
        for (uint256 i = 0; i < payments.length; ++i) {
            signed.payments.push(payments[i]);
        }
        send("settled", missionKey, payments, signed.signature);
    }

    /// @dev An earlier batch, in any state.
    function retry(uint256 seed) external acts {
        if (batches.length == 0) return;
        Batch storage signed = batches[draw(seed, "batch") % batches.length];
        send("retried", signed.missionKey, signed.payments, signed.signature);
    }

    /// @dev The receipt of one payment out of an earlier batch.
    function redeem(uint256 seed) external acts {
        if (batches.length == 0) return;
        Batch storage signed = batches[draw(seed, "batch") % batches.length];
        IMissionFactory.Payment[] memory receipt = new IMissionFactory.Payment[](1);
        receipt[0] = signed.payments[draw(seed, "payment") % signed.payments.length];
        if (chance(seed, "own", 2)) {
            receipt[0].slot = uint24(draw(seed, "slot") % entries[signed.missionKey].target);
        }
        send("redeemed", signed.missionKey, receipt, signSettlement(signed.missionKey, receipt));
    }

    /// @dev A batch that the SETTLER has not signed, on any mission.
    function counterfeit(uint256 seed) external acts {
        bytes32 missionKey = pickMission(seed);
        IMissionFactory.Payment[] memory payments = single(draw(seed, "slot") % entries[missionKey].target, stranger);
        uint256 key = chance(seed, "authorizer", 2) ? AUTHORIZER_KEY : STRANGER_KEY;
        bytes memory signature = sign(key, factory.hashSettlement(missionKey, payments));
        bytes4 refusal = refusalOfAny(missionKey);
        if (refusal == 0) refusal = IMissionFactory.UnauthorizedSigner.selector;
        try factory.settle(missionKey, payments, signature) {
            came("counterfeit paid", refusal, 0);
        } catch (bytes memory reason) {
            came("counterfeit refused", refusal, bytes4(reason));
        }
    }

    function send(
        string memory what,
        bytes32 missionKey,
        IMissionFactory.Payment[] memory payments,
        bytes memory signature
    ) private {
        (bytes4 refusal, uint256 fresh) = refusalOfSettle(missionKey, payments);
        vm.recordLogs();
        try factory.settle(missionKey, payments, signature) {
            came(what, refusal, 0);
            uint256 taken = enterPayouts(missionKey, payments);
            if (taken != fresh) note(string.concat(what, ": other slots than the unpaid ones"));
            if (taken > 0) ++count["paying settlements"];
        } catch (bytes memory reason) {
            came(string.concat(what, " refused"), refusal, bytes4(reason));
        }
    }

    /// @return refusal Of the first check that fails, 0 if none does.
    /// @return fresh How many slots the batch would pay.
    function refusalOfSettle(bytes32 missionKey, IMissionFactory.Payment[] memory payments)
        private
        view
        returns (bytes4 refusal, uint256 fresh)
    {
        refusal = refusalOfAny(missionKey);
        if (refusal != 0) return (refusal, 0);
        Entry storage entry = entries[missionKey];
        for (uint256 i = 0; i < payments.length; ++i) {
            if (payments[i].slot >= entry.target) return (IMissionFactory.SlotOutOfRange.selector, 0);
            bool isFresh = timesPaid[missionKey][payments[i].slot] == 0;
            for (uint256 j = 0; j < i && isFresh; ++j) {
                isFresh = payments[j].slot != payments[i].slot;
            }
            if (isFresh) ++fresh;
        }
        uint256 spent = spentOn[entry.token][clock / 1 days] + fresh * entry.reward;
        if (fresh > 0 && spent > capOf[entry.token]) return (IMissionFactory.DailyCapExceeded.selector, 0);
    }

    /// @dev Records the events of one settlement.
    function enterPayouts(bytes32 missionKey, IMissionFactory.Payment[] memory payments)
        private
        returns (uint256 taken)
    {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Entry storage entry = entries[missionKey];
        for (uint256 i = 0; i < logs.length; ++i) {
            if (logs[i].emitter != address(factory)) continue;
            (uint256 slot, uint256 amount) = abi.decode(logs[i].data, (uint256, uint256));
            address recipient = address(uint160(uint256(logs[i].topics[3])));
            bool isDeferred = logs[i].topics[0] == IMissionFactory.PayoutDeferred.selector;
            if (logs[i].topics[1] != missionKey || amount != entry.reward) note("an event of another mission");
            if (!namesFirst(payments, slot, recipient, logs[i].topics[2])) note("a payout to somebody else");
            if (isDeferred != (refusalOfToken(entry.token, recipient) != 0)) {
                note("deferred without the token's refusal");
            }
            ++taken;
            ++entry.paidSlots;
            entry.paidOut += amount;
            if (hasEnded(missionKey)) note("a closed mission has paid");
            if (++timesPaid[missionKey][slot] > mostTimesPaid) mostTimesPaid = timesPaid[missionKey][slot];
            (isDeferred ? creditOf : walletOf)[entry.token][recipient] += amount;
            ++count[isDeferred ? "deferred slots" : "paid slots"];
            uint256 spent = spentOn[entry.token][clock / 1 days] += amount;
            if (spent > capOf[entry.token]) note("the daily cap was exceeded");
        }
    }

    /// @dev Whether a slot's first payment in the batch is for this recipient and submission.
    function namesFirst(
        IMissionFactory.Payment[] memory payments,
        uint256 slot,
        address recipient,
        bytes32 submissionKey
    ) private pure returns (bool) {
        uint256 i = 0;
        while (payments[i].slot != slot) ++i;
        return payments[i].recipient == recipient && payments[i].submissionKey == submissionKey;
    }

    // ---------------------------------------------------------------------------------------------------------- ending

    function close(uint256 seed) external acts {
        bytes32 missionKey = pickMission(seed);
        uint256 paidCount = entries[missionKey].paidSlots;
        bytes4 refusal = refusalOfAny(missionKey);
        if (openMissions <= MIN_OPEN || chance(seed, "wrong count", 6)) {
            ++paidCount;
            if (refusal == 0) refusal = IMissionFactory.PaidCountMismatch.selector;
        }
        bytes memory signature = signClose(missionKey, paidCount);
        vm.recordLogs();
        try factory.close(missionKey, paidCount, signature) {
            came("closed", refusal, 0);
            enterEnd(missionKey, IMissionFactory.CloseReason.Closed);
        } catch (bytes memory reason) {
            came("close refused", refusal, bytes4(reason));
        }
    }

    /// @dev Half of the time right around the second from which on it is allowed.
    function reclaim(uint256 seed) external acts {
        bytes32 missionKey = pickMission(seed);
        Entry storage entry = entries[missionKey];
        if (chance(seed, "wait", 2) && clock < entry.reclaimAfter) {
            clock = entry.reclaimAfter - (chance(seed, "early", 3) ? 1 : 0);
            vm.warp(clock);
        }
        address sender = openMissions <= MIN_OPEN || chance(seed, "other", 8) ? settler : entry.creator;
        bytes4 refusal;
        if (hasEnded(missionKey)) refusal = IMissionFactory.MissionAlreadyClosed.selector;
        else if (sender != entry.creator) refusal = IMissionFactory.NotCreator.selector;
        else if (clock < entry.reclaimAfter) refusal = IMissionFactory.ReclaimTooEarly.selector;
        vm.recordLogs();
        vm.prank(sender);
        try factory.reclaim(missionKey) {
            came("reclaimed", refusal, 0);
            enterEnd(missionKey, IMissionFactory.CloseReason.Reclaimed);
        } catch (bytes memory reason) {
            came("reclaim refused", refusal, bytes4(reason));
        }
    }

    function enterEnd(bytes32 missionKey, IMissionFactory.CloseReason how) private {
        Vm.Log[] memory logs = vm.getRecordedLogs();
        Vm.Log memory last = logs[logs.length - 1];
        (uint256 refund, bool isDeferred, IMissionFactory.CloseReason reason) =
            abi.decode(last.data, (uint256, bool, IMissionFactory.CloseReason));
        Entry storage entry = entries[missionKey];
        bool refused = refund > 0 && refusalOfToken(entry.token, entry.creator) != 0;
        if (last.topics[1] != missionKey || reason != how || isDeferred != refused) note("a wrong MissionClosed");
        entry.ended = how;
        --openMissions;
        entry.refund = refund;
        (isDeferred ? creditOf : walletOf)[entry.token][entry.creator] += refund;
        if (isDeferred) ++count["deferred refunds"];
    }

    /// @dev Claims for an account with a credit, if there is one; sometimes the issuer has just removed it from the denylist.
    function claim(uint256 seed) external acts {
        address token = tokens[draw(seed, "token") % 2];
        address account = people[seed % people.length];
        for (uint256 i = 0; i < people.length && creditOf[token][account] == 0; ++i) {
            (token, account) = (address(usdc), people[(seed % people.length + i) % people.length]);
        }
        if (chance(seed, "pardon", 2)) setDenylisted(account, false);
        uint256 amount = creditOf[token][account];
        bytes4 refusal = amount == 0 ? IMissionFactory.NothingDeferred.selector : refusalOfToken(token, account);
        try factory.claimDeferred(token, account) {
            came("claimed", refusal, 0);
            creditOf[token][account] = 0;
            walletOf[token][account] += amount;
        } catch (bytes memory reason) {
            came("claim refused", refusal, bytes4(reason));
        }
    }

    // -------------------------------------------------------------------------------------------------------- meddling

    function donate(uint256 seed) external acts {
        address token = tokens[draw(seed, "token") % 2];
        address account = randomPerson(seed);
        uint256 amount = draw(seed, "amount") % 1e9;
        if (refusalOfToken(token, account) != 0) return;
        vm.prank(account);
        TestUSDC(token).transfer(address(factory), amount);
        walletOf[token][account] -= amount;
        donated[token] += amount;
        ++count["donated"];
    }

    /// @dev One of the obstacles to payments: a pause, the token's pause, the denylist, a cap.
    function meddle(uint256 seed) external acts {
        uint256 kind = draw(seed, "kind") % 8;
        if (kind == 0) setFactoryPaused(!factory.paused());
        else if (kind == 1) usdc.paused() ? unpauseToken() : pauseToken();
        else if (kind < 6) toggleDenylisted(chance(seed, "factory", 10) ? address(factory) : randomPerson(seed));
        else putCap(tokens[draw(seed, "token") % 2], randomCap(seed));
        ++count["meddled"];
    }

    function randomCap(uint256 seed) private pure returns (uint256) {
        if (chance(seed, "nothing", 6)) return 0;
        return chance(seed, "unlimited", 3) ? NO_CAP : draw(seed, "limit") % 1e13;
    }

    function toggleDenylisted(address account) private {
        setDenylisted(account, !usdc.isDenylisted(account));
    }

    /// @dev Mostly within a day or over one midnight, at times far on.
    function wait_(uint256 seed) external acts {
        clock += draw(seed, "time") % (chance(seed, "long", 8) ? 60 days : 12 hours);
    }

    function setFactoryPaused(bool paused) private {
        if (paused) return pauseFactory();
        vm.prank(admin);
        factory.unpause();
    }

    function putCap(address token, uint256 limit) private {
        vm.prank(admin);
        factory.setDailyCap(token, limit);
        capOf[token] = limit;
    }

    // ------------------------------------------------------------------------------------------------------- the books

    /// @dev Reasons that refuse every call for a mission.
    function refusalOfAny(bytes32 missionKey) private view returns (bytes4) {
        if (factory.paused()) return Pausable.EnforcedPause.selector;
        if (hasEnded(missionKey)) return IMissionFactory.MissionAlreadyClosed.selector;
        return 0;
    }

    /// @dev Whether the token moves nothing between the factory and an account just now, and why.
    function refusalOfToken(address token, address account) private view returns (bytes4) {
        if (token != address(usdc)) return 0;
        if (usdc.paused()) return Pausable.EnforcedPause.selector;
        bool listed = usdc.isDenylisted(account) || usdc.isDenylisted(address(factory));
        return listed ? TestUSDC.Denylisted.selector : bytes4(0);
    }

    function hasEnded(bytes32 missionKey) private view returns (bool) {
        return entries[missionKey].ended != IMissionFactory.CloseReason.None;
    }

    function came(string memory what, bytes4 expected, bytes4 actual) private {
        ++count[what];
        if (expected != actual) note(what);
    }

    function note(string memory what) private {
        if (bytes(surprise).length == 0) surprise = what;
    }

    /// @dev Mostly an open one.
    function pickMission(uint256 seed) private view returns (bytes32 missionKey) {
        for (uint256 i = 0; i < 4; ++i) {
            missionKey = missionKeys[draw(seed, vm.toString(i)) % missionKeys.length];
            if (!hasEnded(missionKey)) return missionKey;
        }
    }

    function randomPerson(uint256 seed) private view returns (address) {
        return people[draw(seed, "person") % people.length];
    }

    function draw(uint256 seed, string memory what) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what)));
    }

    /// @dev True once in `odds` times.
    function chance(uint256 seed, string memory what, uint256 odds) private pure returns (bool) {
        return uint256(keccak256(abi.encode("chance", seed, what))) % odds == 0;
    }

    // -------------------------------------------------------------------------------------------------- for the checks

    function allEntries() external view returns (bytes32[] memory keys, Entry[] memory list) {
        keys = missionKeys;
        list = new Entry[](keys.length);
        for (uint256 i = 0; i < keys.length; ++i) {
            list[i] = entries[keys[i]];
        }
    }

    /// @dev What the accounts should hold and be owed in a token.
    function accountsIn(address token)
        external
        view
        returns (address[7] memory accounts, uint256[7] memory wallets, uint256[7] memory credits)
    {
        accounts = people;
        for (uint256 i = 0; i < people.length; ++i) {
            wallets[i] = walletOf[token][accounts[i]];
            credits[i] = creditOf[token][accounts[i]];
        }
    }

    function theFactory() external view returns (IMissionFactory) {
        return factory;
    }

    function theTokens() external view returns (address[2] memory) {
        return tokens;
    }
}
