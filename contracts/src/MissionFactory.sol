// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {
    AccessControlDefaultAdminRules
} from "@openzeppelin/contracts/access/extensions/AccessControlDefaultAdminRules.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ReentrancyGuardTransient} from "@openzeppelin/contracts/utils/ReentrancyGuardTransient.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {IMissionFactory} from "./interfaces/IMissionFactory.sol";

/// @title The ledger of funded missions
/// @dev The documentation is in the interface; comments here say why the code is the way it is.
contract MissionFactory is IMissionFactory, AccessControlDefaultAdminRules, Pausable, ReentrancyGuardTransient, EIP712 {
    using SafeERC20 for IERC20;

    /// @dev One slot: what may be settled per day, what was settled on `day`, and which day that was.
    struct DailyCap {
        uint112 limit;
        uint112 spent;
        uint32 day;
    }

    /// @inheritdoc IMissionFactory
    bytes32 public constant AUTHORIZER_ROLE = keccak256("AUTHORIZER_ROLE");
    /// @inheritdoc IMissionFactory
    bytes32 public constant SETTLER_ROLE = keccak256("SETTLER_ROLE");
    /// @inheritdoc IMissionFactory
    bytes32 public constant PAUSER_ROLE = keccak256("PAUSER_ROLE");

    uint256 private constant MAX_MISSION_ID_LENGTH = 64;
    uint256 private constant MAX_TARGET_COUNT = 100_000;
    uint256 private constant MAX_AUTHORIZATION_LIFE = 1 days;
    uint256 private constant RECLAIM_DELAY = 180 days;

    /// @dev Stands for "no limit" in storage. No larger sum can be stored either, so that it is never exceeded.
    uint112 private constant UNLIMITED = type(uint112).max;

    bytes32 private constant AUTHORIZATION_TYPEHASH = keccak256(
        "MissionAuthorization(string missionId,address token,uint256 rewardPerSubmission,uint256 targetCount,address creator,bytes32 nonce,uint256 deadline)"
    );
    bytes32 private constant PAYMENT_TYPEHASH =
        keccak256("Payment(uint24 slot,address recipient,bytes32 submissionKey)");
    bytes32 private constant SETTLEMENT_TYPEHASH = keccak256(
        "Settlement(bytes32 missionKey,Payment[] payments)Payment(uint24 slot,address recipient,bytes32 submissionKey)"
    );
    bytes32 private constant CLOSE_TYPEHASH = keccak256("Close(bytes32 missionKey,uint256 paidCount)");

    /// @inheritdoc IMissionFactory
    address public immutable serviceToken;
    /// @inheritdoc IMissionFactory
    address public immutable usdc;

    /// @inheritdoc IMissionFactory
    mapping(address token => mapping(address account => uint256)) public deferred;
    /// @inheritdoc IMissionFactory
    mapping(address creator => mapping(bytes32 nonce => bool)) public revoked;

    mapping(bytes32 missionKey => Mission) private _missions;
    /// @dev 256 slots a word; a set bit is a slot that was paid or deferred.
    mapping(bytes32 missionKey => mapping(uint256 word => uint256)) private _paidSlots;
    mapping(address token => DailyCap) private _dailyCaps;

    /// @param admin Holder of the default admin role.
    /// @param adminDelay Seconds a hand-over of the default admin role takes at least.
    /// @param authorizer First holder of AUTHORIZER_ROLE.
    /// @param settler First holder of SETTLER_ROLE.
    /// @param pauser First holder of PAUSER_ROLE.
    /// @param serviceToken_ The token with 18 decimals.
    /// @param usdc_ The token with 6 decimals.
    /// @param serviceTokenCap Daily cap of the former, as in {setDailyCap}.
    /// @param usdcCap Daily cap of the latter.
    constructor(
        address admin,
        uint48 adminDelay,
        address authorizer,
        address settler,
        address pauser,
        address serviceToken_,
        address usdc_,
        uint256 serviceTokenCap,
        uint256 usdcCap
    ) AccessControlDefaultAdminRules(adminDelay, admin) EIP712("MissionFactory", "1") {
        if (serviceToken_.code.length == 0) revert InvalidToken(serviceToken_);
        if (usdc_.code.length == 0 || usdc_ == serviceToken_) revert InvalidToken(usdc_);
        serviceToken = serviceToken_;
        usdc = usdc_;
        _grantInitialRole(AUTHORIZER_ROLE, authorizer);
        _grantInitialRole(SETTLER_ROLE, settler);
        _grantInitialRole(PAUSER_ROLE, pauser);
        _setDailyCap(serviceToken_, serviceTokenCap);
        _setDailyCap(usdc_, usdcCap);
    }

    // ----------------------------------------------------------------------------------------------------------- money

    /// @inheritdoc IMissionFactory
    function createAuthorizedFundedMission(MissionAuthorization calldata authorization, bytes calldata signature)
        external
        whenNotPaused
        nonReentrant
        returns (bytes32 missionKey)
    {
        if (msg.sender != authorization.creator) revert NotCreator(msg.sender, authorization.creator);
        _checkTerms(authorization);
        missionKey = keccak256(bytes(authorization.missionId));
        if (_missions[missionKey].creator != address(0)) revert MissionAlreadyFunded(missionKey);
        if (revoked[msg.sender][authorization.nonce]) revert NonceRevoked(msg.sender, authorization.nonce);
        _checkSigner(AUTHORIZER_ROLE, _hashAuthorization(authorization, missionKey), signature);

        uint256 reclaimAfter = block.timestamp + RECLAIM_DELAY;
        // The casts keep what _checkTerms has bounded; a timestamp fits 40 bits for another 34,000 years.
        _missions[missionKey] = Mission({
            creator: msg.sender,
            rewardPerSubmission: uint96(authorization.rewardPerSubmission),
            token: authorization.token,
            targetCount: uint24(authorization.targetCount),
            paidCount: 0,
            reclaimAfter: uint40(reclaimAfter),
            closed: CloseReason.None
        });
        _pullExactly(authorization.token, authorization.rewardPerSubmission * authorization.targetCount);
        emit MissionFunded(
            missionKey,
            msg.sender,
            authorization.token,
            authorization.missionId,
            authorization.rewardPerSubmission,
            authorization.targetCount,
            authorization.nonce,
            reclaimAfter
        );
    }

    /// @inheritdoc IMissionFactory
    function settle(bytes32 missionKey, Payment[] calldata payments, bytes calldata signature)
        external
        whenNotPaused
        nonReentrant
    {
        (Mission storage mission, uint256 targetCount, uint256 paidCount) = _openMission(missionKey);
        _checkSigner(SETTLER_ROLE, hashSettlement(missionKey, payments), signature);

        // Effects first: whoever looks at this contract from inside a transfer sees the whole batch as taken.
        uint256[] memory taken = _takeSlots(missionKey, targetCount, payments);
        if (taken.length == 0) return;
        address token = mission.token;
        uint256 reward = mission.rewardPerSubmission;
        mission.paidCount = uint24(paidCount + taken.length);
        _chargeDailyCap(token, reward * taken.length);
        _payOut(missionKey, token, reward, payments, taken);
    }

    /// @inheritdoc IMissionFactory
    function close(bytes32 missionKey, uint256 paidCount, bytes calldata signature)
        external
        whenNotPaused
        nonReentrant
    {
        (Mission storage mission, uint256 targetCount, uint256 actual) = _openMission(missionKey);
        _checkSigner(SETTLER_ROLE, hashClose(missionKey, paidCount), signature);
        if (paidCount != actual) revert PaidCountMismatch(missionKey, paidCount, actual);
        _end(missionKey, mission, targetCount, actual, CloseReason.Closed);
    }

    /// @inheritdoc IMissionFactory
    function reclaim(bytes32 missionKey) external nonReentrant {
        (Mission storage mission, uint256 targetCount, uint256 paidCount) = _openMission(missionKey);
        if (msg.sender != mission.creator) revert NotCreator(msg.sender, mission.creator);
        if (block.timestamp < mission.reclaimAfter) revert ReclaimTooEarly(missionKey, mission.reclaimAfter);
        _end(missionKey, mission, targetCount, paidCount, CloseReason.Reclaimed);
    }

    /// @inheritdoc IMissionFactory
    function claimDeferred(address token, address account) external nonReentrant {
        uint256 amount = deferred[token][account];
        if (amount == 0) revert NothingDeferred(token, account);
        deferred[token][account] = 0;
        IERC20(token).safeTransfer(account, amount);
        emit DeferredClaimed(token, account, amount);
    }

    // --------------------------------------------------------------------------------------------------------- control

    /// @inheritdoc IMissionFactory
    function revokeAuthorization(address creator, bytes32 nonce) external {
        if (msg.sender != creator && !hasRole(AUTHORIZER_ROLE, msg.sender)) {
            revert NotCreatorOrAuthorizer(msg.sender, creator);
        }
        revoked[creator][nonce] = true;
        emit AuthorizationRevoked(creator, nonce);
    }

    /// @inheritdoc IMissionFactory
    function setDailyCap(address token, uint256 limit) external onlyRole(DEFAULT_ADMIN_ROLE) {
        if (!_isSupported(token)) revert UnsupportedToken(token);
        _setDailyCap(token, limit);
    }

    /// @inheritdoc IMissionFactory
    function pause() external onlyRole(PAUSER_ROLE) {
        _pause();
    }

    /// @inheritdoc IMissionFactory
    function unpause() external onlyRole(DEFAULT_ADMIN_ROLE) {
        _unpause();
    }

    // ----------------------------------------------------------------------------------------------------------- views

    /// @inheritdoc IMissionFactory
    function missions(bytes32 missionKey) external view returns (Mission memory) {
        return _missions[missionKey];
    }

    /// @inheritdoc IMissionFactory
    function remaining(bytes32 missionKey) external view returns (uint256) {
        Mission storage mission = _missions[missionKey];
        if (mission.closed != CloseReason.None) return 0;
        return uint256(mission.rewardPerSubmission) * (mission.targetCount - mission.paidCount);
    }

    /// @inheritdoc IMissionFactory
    function isPaid(bytes32 missionKey, uint256 slot) external view returns (bool) {
        return _paidSlots[missionKey][slot >> 8] & (1 << (slot & 0xff)) != 0;
    }

    /// @inheritdoc IMissionFactory
    function dailyCaps(address token) external view returns (uint256 limit, uint256 spent, uint256 day) {
        DailyCap storage cap = _dailyCaps[token];
        limit = cap.limit == UNLIMITED ? type(uint256).max : cap.limit;
        day = block.timestamp / 1 days;
        spent = cap.day == day ? cap.spent : 0;
    }

    /// @inheritdoc IMissionFactory
    function hashAuthorization(MissionAuthorization calldata authorization) external view returns (bytes32) {
        return _hashAuthorization(authorization, keccak256(bytes(authorization.missionId)));
    }

    /// @inheritdoc IMissionFactory
    function hashSettlement(bytes32 missionKey, Payment[] calldata payments) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(SETTLEMENT_TYPEHASH, missionKey, _hashPayments(payments))));
    }

    /// @inheritdoc IMissionFactory
    function hashClose(bytes32 missionKey, uint256 paidCount) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(CLOSE_TYPEHASH, missionKey, paidCount)));
    }

    // --------------------------------------------------------------------------------------------------------- private

    function _grantInitialRole(bytes32 role, address account) private {
        if (account == address(0)) revert MissingRoleHolder(role);
        _grantRole(role, account);
    }

    function _setDailyCap(address token, uint256 limit) private {
        if (limit == type(uint256).max) {
            _dailyCaps[token].limit = UNLIMITED;
        } else if (limit < UNLIMITED) {
            _dailyCaps[token].limit = uint112(limit);
        } else {
            revert DailyCapTooLarge(limit, UNLIMITED - 1);
        }
        emit DailyCapSet(token, limit);
    }

    function _isSupported(address token) private view returns (bool) {
        return token == serviceToken || token == usdc;
    }

    function _checkTerms(MissionAuthorization calldata authorization) private view {
        uint256 idLength = bytes(authorization.missionId).length;
        if (idLength == 0 || idLength > MAX_MISSION_ID_LENGTH) revert InvalidMissionIdLength(idLength);
        uint256 reward = authorization.rewardPerSubmission;
        if (reward == 0 || reward > type(uint96).max) revert InvalidReward(reward);
        uint256 target = authorization.targetCount;
        if (target == 0 || target > MAX_TARGET_COUNT) revert InvalidTargetCount(target);
        uint256 deadline = authorization.deadline;
        if (block.timestamp > deadline) revert AuthorizationExpired(deadline, block.timestamp);
        uint256 latest = block.timestamp + MAX_AUTHORIZATION_LIFE;
        if (deadline > latest) revert DeadlineTooFar(deadline, latest);
        if (!_isSupported(authorization.token)) revert UnsupportedToken(authorization.token);
    }

    function _checkSigner(bytes32 role, bytes32 digest, bytes calldata signature) private view {
        address signer = ECDSA.recoverCalldata(digest, signature);
        if (!hasRole(role, signer)) revert UnauthorizedSigner(signer, role);
    }

    /// @dev Reads the ledger entry's second storage slot once, for all that is asked of it first.
    function _openMission(bytes32 missionKey)
        private
        view
        returns (Mission storage mission, uint256 targetCount, uint256 paidCount)
    {
        mission = _missions[missionKey];
        CloseReason closed;
        (targetCount, paidCount, closed) = (mission.targetCount, mission.paidCount, mission.closed);
        if (targetCount == 0) revert UnknownMission(missionKey);
        if (closed != CloseReason.None) revert MissionAlreadyClosed(missionKey, closed);
    }

    /// @dev The difference of balances, not the token's word, says what has arrived.
    function _pullExactly(address token, uint256 amount) private {
        uint256 before = IERC20(token).balanceOf(address(this));
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        uint256 received = IERC20(token).balanceOf(address(this)) - before;
        if (received != amount) revert InexactFunding(token, amount, received);
    }

    /// @dev Marks the batch's unpaid slots as paid and returns their places in `payments`. Works on one bitmap word at
    /// a time and writes it back when the batch moves on to another one, so that a batch of neighbours costs one
    /// write.
    function _takeSlots(bytes32 missionKey, uint256 targetCount, Payment[] calldata payments)
        private
        returns (uint256[] memory taken)
    {
        mapping(uint256 word => uint256) storage paidSlots = _paidSlots[missionKey];
        taken = new uint256[](payments.length);
        uint256 count = 0;
        if (payments.length == 0) return taken;
        uint256 word = payments[0].slot >> 8;
        uint256 bits = paidSlots[word];
        for (uint256 i = 0; i < payments.length; ++i) {
            uint256 slot = payments[i].slot;
            if (slot >= targetCount) revert SlotOutOfRange(slot, targetCount);
            if (slot >> 8 != word) {
                paidSlots[word] = bits;
                word = slot >> 8;
                bits = paidSlots[word];
            }
            uint256 bit = 1 << (slot & 0xff);
            if (bits & bit == 0) {
                bits |= bit;
                taken[count] = i;
                unchecked {
                    ++count;
                }
            }
        }
        paidSlots[word] = bits;
        // Only ever shortens the array that was allocated above.
        assembly ("memory-safe") {
            mstore(taken, count)
        }
    }

    function _payOut(
        bytes32 missionKey,
        address token,
        uint256 reward,
        Payment[] calldata payments,
        uint256[] memory taken
    ) private {
        for (uint256 i = 0; i < taken.length; ++i) {
            Payment calldata payment = payments[taken[i]];
            (uint256 slot, address recipient) = (payment.slot, payment.recipient);
            if (recipient == address(0) || recipient == address(this) || recipient == serviceToken || recipient == usdc)
            {
                revert InvalidRecipient(slot, recipient);
            }
            if (_transferOrDefer(token, recipient, reward)) {
                emit SubmissionPaid(missionKey, payment.submissionKey, recipient, slot, reward);
            } else {
                emit PayoutDeferred(missionKey, payment.submissionKey, recipient, slot, reward);
            }
        }
    }

    function _chargeDailyCap(address token, uint256 amount) private {
        DailyCap memory cap = _dailyCaps[token];
        uint256 today = block.timestamp / 1 days;
        uint256 spent = amount + (cap.day == today ? cap.spent : 0);
        if (spent > cap.limit && cap.limit != UNLIMITED) revert DailyCapExceeded(token, cap.limit, spent);
        // Counted without a limit too, for the day on which one is set; a sum beyond 112 bits stays above any limit.
        _dailyCaps[token] = DailyCap(cap.limit, uint112(Math.min(spent, UNLIMITED)), uint32(today));
    }

    /// @dev Copies at most one word of what the token returns, so that a token cannot make the batch pay for more.
    function _transferOrDefer(address token, address account, uint256 amount) private returns (bool transferred) {
        uint256 offered = gasleft();
        transferred = IERC20(token).trySafeTransfer(account, amount);
        if (!transferred) {
            // A call that runs out of gas leaves the caller 1/64 of what there was. Nobody but the sender of the
            // transaction chooses how much there was, so such a failure is the sender's, not the recipient's.
            uint256 left = gasleft();
            if (left < offered / 4) revert TooLittleGas(offered, left);
            deferred[token][account] += amount;
        }
    }

    function _end(
        bytes32 missionKey,
        Mission storage mission,
        uint256 targetCount,
        uint256 paidCount,
        CloseReason reason
    ) private {
        (address token, address creator) = (mission.token, mission.creator);
        uint256 refund;
        unchecked {
            // A slot is paid once, so there are never more paid than funded; and 96 bits times 17 bits fit.
            refund = mission.rewardPerSubmission * (targetCount - paidCount);
        }
        mission.closed = reason;
        bool refundDeferred = refund != 0 && !_transferOrDefer(token, creator, refund);
        emit MissionClosed(missionKey, refund, refundDeferred, reason);
    }

    function _hashAuthorization(MissionAuthorization calldata authorization, bytes32 missionIdHash)
        private
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(
            keccak256(
                abi.encode(
                    AUTHORIZATION_TYPEHASH,
                    missionIdHash,
                    authorization.token,
                    authorization.rewardPerSubmission,
                    authorization.targetCount,
                    authorization.creator,
                    authorization.nonce,
                    authorization.deadline
                )
            )
        );
    }

    /// @dev keccak256 of the concatenated struct hashes of the payments, as EIP-712 hashes an array of structs. In
    /// assembly because it is the one loop in which plain Solidity costs a recipient noticeably more (it would copy
    /// every payment three times). A payment's ABI encoding is its EIP-712 encoding without the type hash: three whole
    /// words. The words are hashed as they came; one that is not a clean uint24 or address matches no honest digest,
    /// and reading it in _takeSlots reverts.
    function _hashPayments(Payment[] calldata payments) private pure returns (bytes32 hash) {
        bytes32 typeHash = PAYMENT_TYPEHASH;
        assembly ("memory-safe") {
            // Free memory: [type hash | one payment (3 words)] [struct hash of every payment].
            let encoded := mload(0x40)
            let hashes := add(encoded, 0x80)
            let end := add(hashes, shl(5, payments.length))
            mstore(encoded, typeHash)
            let from := payments.offset
            for { let to := hashes } lt(to, end) { to := add(to, 0x20) } {
                calldatacopy(add(encoded, 0x20), from, 0x60)
                mstore(to, keccak256(encoded, 0x80))
                from := add(from, 0x60)
            }
            hash := keccak256(hashes, sub(end, hashes))
        }
    }
}
