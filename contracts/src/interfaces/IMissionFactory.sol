// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// @title The ledger of funded missions
/// @notice A creator funds a mission of `targetCount` equal slots with one of two tokens. Each slot is paid to one
/// contributor, exactly once, on the signature of the SETTLER. What is left goes back to the creator when the mission
/// is closed, or 180 days after funding when the creator reclaims it.
///
/// Money, always and for every token that moves what it is asked to move:
///
/// - per mission: reward x target = reward x paidCount + remaining, or + the refund once it is closed;
/// - per token: balance >= sum of all `remaining` + sum of all `deferred` credits.
///
/// Five kinds of party:
///
/// - AUTHORIZER signs what a creator may fund. It cannot move money.
/// - SETTLER signs payouts and closes. What it can misdirect in a day is bounded by the daily caps.
/// - PAUSER stops create, settle and close. It can never stop the exits `reclaim` and `claimDeferred`.
/// - ADMIN (the default admin role) grants and revokes the three roles above, sets the caps and lifts a pause.
/// - The sender of a transaction pays its gas. Only `createAuthorizedFundedMission` and `reclaim` (the creator),
///   `revokeAuthorization` (the creator or an AUTHORIZER) and the role-guarded functions care who it is.
///
/// The contract is immutable and has no way to move money other than those described here. The signed structs, under
/// the EIP-712 domain (name `MissionFactory`, version `1`, chain id, this address), are
///
///     MissionAuthorization(string missionId,address token,uint256 rewardPerSubmission,uint256 targetCount,address creator,bytes32 nonce,uint256 deadline)
///     Settlement(bytes32 missionKey,Payment[] payments)Payment(uint24 slot,address recipient,bytes32 submissionKey)
///     Close(bytes32 missionKey,uint256 paidCount)
///
/// with missionKey = keccak256(bytes(missionId)) and submissionKey = keccak256(bytes(submissionId)). A signature is 65
/// bytes r, s, v with a low s and v 27 or 28, and must recover to a current holder of the role.
interface IMissionFactory {
    // --------------------------------------------------------------------------------------------------------- structs

    /// @notice What an AUTHORIZER signs: the one mission that `creator` may fund, until `deadline`.
    /// @param missionId 1 to 64 bytes. Single use comes from it: a mission id can be funded once, ever.
    /// @param token One of the two supported tokens.
    /// @param rewardPerSubmission Base units per slot, at least 1, at most 2^96 - 1.
    /// @param targetCount Number of slots, 1 to 100,000.
    /// @param creator The only account that may send the authorization, and the one that pays.
    /// @param nonce Shared by all quotes of one draft; makes them revocable together.
    /// @param deadline Last second at which the authorization is good; at most one day ahead of the block.
    struct MissionAuthorization {
        string missionId;
        address token;
        uint256 rewardPerSubmission;
        uint256 targetCount;
        address creator;
        bytes32 nonce;
        uint256 deadline;
    }

    /// @notice One slot's payout. A settlement of a single payment is the contributor's receipt.
    /// @param slot Number of the slot, counted from 0, below the mission's target.
    /// @param recipient Who is paid. Never the zero address, this contract or one of the tokens.
    /// @param submissionKey keccak256 of the submission id; carried into the event, not interpreted.
    struct Payment {
        uint24 slot;
        address recipient;
        bytes32 submissionKey;
    }

    /// @notice How a mission ended.
    enum CloseReason {
        /// Not ended: open, or never funded.
        None,
        /// `close`, on the SETTLER's signature.
        Closed,
        /// `reclaim`, by the creator.
        Reclaimed
    }

    /// @notice A mission's ledger entry: two storage slots. All zero when the mission was never funded.
    /// @param creator Who funded it and who gets the refund.
    /// @param rewardPerSubmission Base units per slot.
    /// @param token The token it is paid in.
    /// @param targetCount Slots funded.
    /// @param paidCount Slots paid, deferred ones included.
    /// @param reclaimAfter First second at which the creator may reclaim.
    /// @param closed `None` while it is open.
    struct Mission {
        address creator;
        uint96 rewardPerSubmission;
        address token;
        uint24 targetCount;
        uint24 paidCount;
        uint40 reclaimAfter;
        CloseReason closed;
    }

    // ---------------------------------------------------------------------------------------------------------- events

    /// @notice A mission's whole budget has arrived.
    event MissionFunded(
        bytes32 indexed missionKey,
        address indexed creator,
        address indexed token,
        string missionId,
        uint256 rewardPerSubmission,
        uint256 targetCount,
        bytes32 nonce,
        uint256 reclaimAfter
    );

    /// @notice A slot was taken and its reward has left for `recipient`.
    event SubmissionPaid(
        bytes32 indexed missionKey,
        bytes32 indexed submissionKey,
        address indexed recipient,
        uint256 slot,
        uint256 amount
    );

    /// @notice A slot was taken, but the token refused the transfer: the reward waits as a credit of `recipient`.
    event PayoutDeferred(
        bytes32 indexed missionKey,
        bytes32 indexed submissionKey,
        address indexed recipient,
        uint256 slot,
        uint256 amount
    );

    /// @notice A mission ended. `refund` went to the creator, or became the creator's credit if `refundDeferred`.
    event MissionClosed(bytes32 indexed missionKey, uint256 refund, bool refundDeferred, CloseReason reason);

    /// @notice A credit was paid out to the account it belonged to.
    event DeferredClaimed(address indexed token, address indexed account, uint256 amount);

    /// @notice No authorization of `creator` with this nonce can fund a mission any more.
    event AuthorizationRevoked(address indexed creator, bytes32 indexed nonce);

    /// @notice The settlements of `token` per UTC day are limited to `limit` from now on.
    event DailyCapSet(address indexed token, uint256 limit);

    // ---------------------------------------------------------------------------------------------------------- errors

    /// @notice The constructor was given the zero address for this role.
    error MissingRoleHolder(bytes32 role);

    /// @notice The constructor was given a token without code, or the same one twice.
    error InvalidToken(address token);

    /// @notice Only the creator may do this.
    error NotCreator(address sender, address creator);

    /// @notice Only the creator or an AUTHORIZER may revoke.
    error NotCreatorOrAuthorizer(address sender, address creator);

    /// @notice A mission id has 1 to 64 bytes.
    error InvalidMissionIdLength(uint256 length);

    /// @notice A reward is at least 1 base unit and fits 96 bits.
    error InvalidReward(uint256 rewardPerSubmission);

    /// @notice A mission has 1 to 100,000 slots.
    error InvalidTargetCount(uint256 targetCount);

    /// @notice The authorization's time is over: fetch a fresh quote.
    error AuthorizationExpired(uint256 deadline, uint256 timestamp);

    /// @notice No authorization may live longer than a day.
    error DeadlineTooFar(uint256 deadline, uint256 latest);

    /// @notice The token is not one of the two this contract was deployed for.
    error UnsupportedToken(address token);

    /// @notice The authorization was revoked.
    error NonceRevoked(address creator, bytes32 nonce);

    /// @notice The signature is well formed, but over other values or by a key that does not hold the role.
    error UnauthorizedSigner(address signer, bytes32 role);

    /// @notice This mission id has been funded before.
    error MissionAlreadyFunded(bytes32 missionKey);

    /// @notice The token moved something other than the budget.
    error InexactFunding(address token, uint256 expected, uint256 received);

    /// @notice No such mission was ever funded here.
    error UnknownMission(bytes32 missionKey);

    /// @notice The mission has ended; nothing more is paid from it.
    error MissionAlreadyClosed(bytes32 missionKey, CloseReason reason);

    /// @notice The slot is not below the mission's target.
    error SlotOutOfRange(uint256 slot, uint256 targetCount);

    /// @notice Money sent there would be lost: the zero address, this contract or one of the tokens.
    error InvalidRecipient(uint256 slot, address recipient);

    /// @notice The batch would bring today's settlements of this token to `attempted`.
    error DailyCapExceeded(address token, uint256 limit, uint256 attempted);

    /// @notice A cap is at most `maximum`, or 2^256 - 1 for none.
    error DailyCapTooLarge(uint256 limit, uint256 maximum);

    /// @notice A transfer failed after using up most of the gas it was offered: send the transaction with more gas.
    error TooLittleGas(uint256 offered, uint256 left);

    /// @notice The close was signed for another number of paid slots: read the mission and sign again.
    error PaidCountMismatch(bytes32 missionKey, uint256 signed, uint256 actual);

    /// @notice The creator's exit opens at `reclaimAfter`.
    error ReclaimTooEarly(bytes32 missionKey, uint256 reclaimAfter);

    /// @notice The account has no credit in this token.
    error NothingDeferred(address token, address account);

    // ----------------------------------------------------------------------------------------------------------- money

    /// @notice Funds a mission: pulls reward x target of the token from the creator, who must have approved it.
    /// @dev Any kind of account can be the creator: a plain key, a contract account, a delegated (EIP-7702) one.
    /// Reverts while paused, and with {NotCreator}, {InvalidMissionIdLength}, {InvalidReward}, {InvalidTargetCount},
    /// {AuthorizationExpired}, {DeadlineTooFar}, {UnsupportedToken}, {MissionAlreadyFunded}, {NonceRevoked},
    /// {UnauthorizedSigner} (or ECDSA's own errors for a malformed signature), the token's own error, or
    /// {InexactFunding}. Emits {MissionFunded}.
    /// @param authorization What was signed; `msg.sender` must be its creator.
    /// @param signature The AUTHORIZER's signature of {hashAuthorization}.
    /// @return missionKey keccak256 of the mission id.
    function createAuthorizedFundedMission(MissionAuthorization calldata authorization, bytes calldata signature)
        external
        returns (bytes32 missionKey);

    /// @notice Pays slots of a mission. Anyone may send it; the SETTLER's signature is the permission.
    /// @dev Slots that are paid already, also earlier in the same batch, are skipped without a trace, so that a retry,
    /// an overlap or a receipt redeemed in between is harmless. A transfer that the token refuses becomes a credit of
    /// the recipient and the batch goes on; if it failed with less than a quarter of the offered gas left, the whole
    /// call reverts with {TooLittleGas}, because then the sender may have starved it. All slots are taken and the
    /// daily cap is charged before the first transfer. Reverts while paused, and with {UnknownMission},
    /// {MissionAlreadyClosed}, {UnauthorizedSigner} (or ECDSA's own errors), {SlotOutOfRange}, {DailyCapExceeded},
    /// {InvalidRecipient}, {TooLittleGas}. Emits {SubmissionPaid} or {PayoutDeferred} for every slot taken.
    /// @param missionKey The mission.
    /// @param payments The slots and who gets them.
    /// @param signature The SETTLER's signature of {hashSettlement}.
    function settle(bytes32 missionKey, Payment[] calldata payments, bytes calldata signature) external;

    /// @notice Ends a finished or rejected mission and refunds what was not paid. Anyone may send it.
    /// @dev A refund the token refuses becomes a credit of the creator, under the same gas rule as in {settle}.
    /// Reverts while paused, and with {UnknownMission}, {MissionAlreadyClosed}, {UnauthorizedSigner} (or ECDSA's own
    /// errors), {PaidCountMismatch}, {TooLittleGas}. Emits {MissionClosed}.
    /// @param missionKey The mission.
    /// @param paidCount The number of paid slots the SETTLER signed for; must be the current one.
    /// @param signature The SETTLER's signature of {hashClose}.
    function close(bytes32 missionKey, uint256 paidCount, bytes calldata signature) external;

    /// @notice The creator's exit when the service is gone: ends the mission without it. Works while paused.
    /// @dev Reverts with {UnknownMission}, {MissionAlreadyClosed}, {NotCreator}, {ReclaimTooEarly}, {TooLittleGas}.
    /// Emits {MissionClosed}.
    /// @param missionKey The mission.
    function reclaim(bytes32 missionKey) external;

    /// @notice Pays an account its credit. Anyone may send it; works while paused.
    /// @dev Reverts with {NothingDeferred}, or with the token's own error while it still refuses the transfer. Emits
    /// {DeferredClaimed}.
    /// @param token The token the credit is in.
    /// @param account Who is paid.
    function claimDeferred(address token, address account) external;

    // --------------------------------------------------------------------------------------------------------- control

    /// @notice Kills every authorization of `creator` with this nonce, signed or yet to be signed.
    /// @dev A mission that was funded already is not touched. Works while paused; repeating it is harmless. Reverts
    /// with {NotCreatorOrAuthorizer}. Emits {AuthorizationRevoked}.
    /// @param creator The creator named in the authorizations.
    /// @param nonce Their nonce.
    function revokeAuthorization(address creator, bytes32 nonce) external;

    /// @notice Limits what may be settled in `token` per UTC day. Refunds are exempt.
    /// @dev Today's sum stays: a limit below it stops settlements until midnight. Only ADMIN. Reverts with
    /// {UnsupportedToken}, {DailyCapTooLarge}. Emits {DailyCapSet}.
    /// @param token One of the two tokens.
    /// @param limit Base units per day; 0 = nothing may be paid; 2^256 - 1 = no limit.
    function setDailyCap(address token, uint256 limit) external;

    /// @notice Stops create, settle and close. Only PAUSER.
    function pause() external;

    /// @notice Lifts the pause. Only ADMIN, so that a stolen PAUSER cannot fight the admin.
    function unpause() external;

    // ----------------------------------------------------------------------------------------------------------- views

    /// @notice A mission's ledger entry; all zero when it was never funded.
    function missions(bytes32 missionKey) external view returns (Mission memory);

    /// @notice Base units still held for a mission's unpaid slots; 0 once it is closed.
    function remaining(bytes32 missionKey) external view returns (uint256);

    /// @notice Whether a slot has been paid or deferred.
    function isPaid(bytes32 missionKey, uint256 slot) external view returns (bool);

    /// @notice An account's credit: payouts and refunds the token refused.
    function deferred(address token, address account) external view returns (uint256);

    /// @notice Whether the authorizations of a creator with this nonce are revoked.
    function revoked(address creator, bytes32 nonce) external view returns (bool);

    /// @notice The daily cap of a token, as of now.
    /// @return limit Base units per UTC day; 2^256 - 1 = no limit.
    /// @return spent Base units settled today.
    /// @return day Today, in days since 1970-01-01 UTC.
    function dailyCaps(address token) external view returns (uint256 limit, uint256 spent, uint256 day);

    /// @notice The EIP-712 digest an AUTHORIZER signs.
    function hashAuthorization(MissionAuthorization calldata authorization) external view returns (bytes32);

    /// @notice The EIP-712 digest a SETTLER signs to pay.
    function hashSettlement(bytes32 missionKey, Payment[] calldata payments) external view returns (bytes32);

    /// @notice The EIP-712 digest a SETTLER signs to close.
    function hashClose(bytes32 missionKey, uint256 paidCount) external view returns (bytes32);

    /// @notice The supported token with 18 decimals.
    function serviceToken() external view returns (address);

    /// @notice The supported token with 6 decimals.
    function usdc() external view returns (address);

    /// @notice Holders sign funding authorizations.
    function AUTHORIZER_ROLE() external view returns (bytes32);

    /// @notice Holders sign settlements and closes.
    function SETTLER_ROLE() external view returns (bytes32);

    /// @notice Holders may pause.
    function PAUSER_ROLE() external view returns (bytes32);
}
