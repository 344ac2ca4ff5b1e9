// Code generated via abigen V2 - DO NOT EDIT.
// This file is a generated binding and any manual changes will be lost.

package missionfactory

import (
	"bytes"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/accounts/abi/bind/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// Reference imports to suppress errors if they are not otherwise used.
var (
	_ = bytes.Equal
	_ = errors.New
	_ = big.NewInt
	_ = common.Big1
	_ = types.BloomLookup
	_ = abi.ConvertType
)

// IMissionFactoryMission is an auto generated low-level Go binding around an user-defined struct.
type IMissionFactoryMission struct {
	Creator             common.Address
	RewardPerSubmission *big.Int
	Token               common.Address
	TargetCount         *big.Int
	PaidCount           *big.Int
	ReclaimAfter        *big.Int
	Closed              uint8
}

// IMissionFactoryMissionAuthorization is an auto generated low-level Go binding around an user-defined struct.
type IMissionFactoryMissionAuthorization struct {
	MissionId           string
	Token               common.Address
	RewardPerSubmission *big.Int
	TargetCount         *big.Int
	Creator             common.Address
	Nonce               [32]byte
	Deadline            *big.Int
}

// IMissionFactoryPayment is an auto generated low-level Go binding around an user-defined struct.
type IMissionFactoryPayment struct {
	Slot          *big.Int
	Recipient     common.Address
	SubmissionKey [32]byte
}

// MissionFactoryMetaData contains all meta data concerning the MissionFactory contract.
var MissionFactoryMetaData = bind.MetaData{
	ABI: "[{\"inputs\":[{\"internalType\":\"address\",\"name\":\"admin\",\"type\":\"address\"},{\"internalType\":\"uint48\",\"name\":\"adminDelay\",\"type\":\"uint48\"},{\"internalType\":\"address\",\"name\":\"authorizer\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"settler\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"pauser\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"serviceToken_\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"usdc_\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"serviceTokenCap\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"usdcCap\",\"type\":\"uint256\"}],\"stateMutability\":\"nonpayable\",\"type\":\"constructor\"},{\"inputs\":[],\"name\":\"AccessControlBadConfirmation\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint48\",\"name\":\"schedule\",\"type\":\"uint48\"}],\"name\":\"AccessControlEnforcedDefaultAdminDelay\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"AccessControlEnforcedDefaultAdminRules\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"defaultAdmin\",\"type\":\"address\"}],\"name\":\"AccessControlInvalidDefaultAdmin\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"neededRole\",\"type\":\"bytes32\"}],\"name\":\"AccessControlUnauthorizedAccount\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"timestamp\",\"type\":\"uint256\"}],\"name\":\"AuthorizationExpired\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"limit\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"attempted\",\"type\":\"uint256\"}],\"name\":\"DailyCapExceeded\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"limit\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"maximum\",\"type\":\"uint256\"}],\"name\":\"DailyCapTooLarge\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"latest\",\"type\":\"uint256\"}],\"name\":\"DeadlineTooFar\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ECDSAInvalidSignature\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"length\",\"type\":\"uint256\"}],\"name\":\"ECDSAInvalidSignatureLength\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"s\",\"type\":\"bytes32\"}],\"name\":\"ECDSAInvalidSignatureS\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"EnforcedPause\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ExpectedPause\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"expected\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"received\",\"type\":\"uint256\"}],\"name\":\"InexactFunding\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"length\",\"type\":\"uint256\"}],\"name\":\"InvalidMissionIdLength\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"slot\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"recipient\",\"type\":\"address\"}],\"name\":\"InvalidRecipient\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"rewardPerSubmission\",\"type\":\"uint256\"}],\"name\":\"InvalidReward\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"InvalidShortString\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"targetCount\",\"type\":\"uint256\"}],\"name\":\"InvalidTargetCount\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"InvalidToken\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"}],\"name\":\"MissingRoleHolder\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"enumIMissionFactory.CloseReason\",\"name\":\"reason\",\"type\":\"uint8\"}],\"name\":\"MissionAlreadyClosed\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"name\":\"MissionAlreadyFunded\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"NonceRevoked\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"}],\"name\":\"NotCreator\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"}],\"name\":\"NotCreatorOrAuthorizer\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"NothingDeferred\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"signed\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"actual\",\"type\":\"uint256\"}],\"name\":\"PaidCountMismatch\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"reclaimAfter\",\"type\":\"uint256\"}],\"name\":\"ReclaimTooEarly\",\"type\":\"error\"},{\"inputs\":[],\"name\":\"ReentrancyGuardReentrantCall\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint8\",\"name\":\"bits\",\"type\":\"uint8\"},{\"internalType\":\"uint256\",\"name\":\"value\",\"type\":\"uint256\"}],\"name\":\"SafeCastOverflowedUintDowncast\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"SafeERC20FailedOperation\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"slot\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"targetCount\",\"type\":\"uint256\"}],\"name\":\"SlotOutOfRange\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"string\",\"name\":\"str\",\"type\":\"string\"}],\"name\":\"StringTooLong\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"uint256\",\"name\":\"offered\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"left\",\"type\":\"uint256\"}],\"name\":\"TooLittleGas\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"signer\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"}],\"name\":\"UnauthorizedSigner\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"name\":\"UnknownMission\",\"type\":\"error\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"UnsupportedToken\",\"type\":\"error\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"AuthorizationRevoked\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"limit\",\"type\":\"uint256\"}],\"name\":\"DailyCapSet\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"DefaultAdminDelayChangeCanceled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"uint48\",\"name\":\"newDelay\",\"type\":\"uint48\"},{\"indexed\":false,\"internalType\":\"uint48\",\"name\":\"effectSchedule\",\"type\":\"uint48\"}],\"name\":\"DefaultAdminDelayChangeScheduled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"DefaultAdminTransferCanceled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"newAdmin\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint48\",\"name\":\"acceptSchedule\",\"type\":\"uint48\"}],\"name\":\"DefaultAdminTransferScheduled\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"DeferredClaimed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[],\"name\":\"EIP712DomainChanged\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"refund\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"bool\",\"name\":\"refundDeferred\",\"type\":\"bool\"},{\"indexed\":false,\"internalType\":\"enumIMissionFactory.CloseReason\",\"name\":\"reason\",\"type\":\"uint8\"}],\"name\":\"MissionClosed\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"string\",\"name\":\"missionId\",\"type\":\"string\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"rewardPerSubmission\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"targetCount\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"reclaimAfter\",\"type\":\"uint256\"}],\"name\":\"MissionFunded\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"Paused\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"submissionKey\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"recipient\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"slot\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"PayoutDeferred\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"previousAdminRole\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"newAdminRole\",\"type\":\"bytes32\"}],\"name\":\"RoleAdminChanged\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"}],\"name\":\"RoleGranted\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"sender\",\"type\":\"address\"}],\"name\":\"RoleRevoked\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"bytes32\",\"name\":\"submissionKey\",\"type\":\"bytes32\"},{\"indexed\":true,\"internalType\":\"address\",\"name\":\"recipient\",\"type\":\"address\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"slot\",\"type\":\"uint256\"},{\"indexed\":false,\"internalType\":\"uint256\",\"name\":\"amount\",\"type\":\"uint256\"}],\"name\":\"SubmissionPaid\",\"type\":\"event\"},{\"anonymous\":false,\"inputs\":[{\"indexed\":false,\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"Unpaused\",\"type\":\"event\"},{\"inputs\":[],\"name\":\"AUTHORIZER_ROLE\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"DEFAULT_ADMIN_ROLE\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"PAUSER_ROLE\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"SETTLER_ROLE\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"acceptDefaultAdminTransfer\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"newAdmin\",\"type\":\"address\"}],\"name\":\"beginDefaultAdminTransfer\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"cancelDefaultAdminTransfer\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"uint48\",\"name\":\"newDelay\",\"type\":\"uint48\"}],\"name\":\"changeDefaultAdminDelay\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"claimDeferred\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"paidCount\",\"type\":\"uint256\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"close\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"string\",\"name\":\"missionId\",\"type\":\"string\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"rewardPerSubmission\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"targetCount\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"internalType\":\"structIMissionFactory.MissionAuthorization\",\"name\":\"authorization\",\"type\":\"tuple\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"createAuthorizedFundedMission\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"}],\"name\":\"dailyCaps\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"limit\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"spent\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"day\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"defaultAdmin\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"defaultAdminDelay\",\"outputs\":[{\"internalType\":\"uint48\",\"name\":\"\",\"type\":\"uint48\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"defaultAdminDelayIncreaseWait\",\"outputs\":[{\"internalType\":\"uint48\",\"name\":\"\",\"type\":\"uint48\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"deferred\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"eip712Domain\",\"outputs\":[{\"internalType\":\"bytes1\",\"name\":\"fields\",\"type\":\"bytes1\"},{\"internalType\":\"string\",\"name\":\"name\",\"type\":\"string\"},{\"internalType\":\"string\",\"name\":\"version\",\"type\":\"string\"},{\"internalType\":\"uint256\",\"name\":\"chainId\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"verifyingContract\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"salt\",\"type\":\"bytes32\"},{\"internalType\":\"uint256[]\",\"name\":\"extensions\",\"type\":\"uint256[]\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"}],\"name\":\"getRoleAdmin\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"grantRole\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"hasRole\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"components\":[{\"internalType\":\"string\",\"name\":\"missionId\",\"type\":\"string\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"rewardPerSubmission\",\"type\":\"uint256\"},{\"internalType\":\"uint256\",\"name\":\"targetCount\",\"type\":\"uint256\"},{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"deadline\",\"type\":\"uint256\"}],\"internalType\":\"structIMissionFactory.MissionAuthorization\",\"name\":\"authorization\",\"type\":\"tuple\"}],\"name\":\"hashAuthorization\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"paidCount\",\"type\":\"uint256\"}],\"name\":\"hashClose\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"components\":[{\"internalType\":\"uint24\",\"name\":\"slot\",\"type\":\"uint24\"},{\"internalType\":\"address\",\"name\":\"recipient\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"submissionKey\",\"type\":\"bytes32\"}],\"internalType\":\"structIMissionFactory.Payment[]\",\"name\":\"payments\",\"type\":\"tuple[]\"}],\"name\":\"hashSettlement\",\"outputs\":[{\"internalType\":\"bytes32\",\"name\":\"\",\"type\":\"bytes32\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"internalType\":\"uint256\",\"name\":\"slot\",\"type\":\"uint256\"}],\"name\":\"isPaid\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"name\":\"missions\",\"outputs\":[{\"components\":[{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"uint96\",\"name\":\"rewardPerSubmission\",\"type\":\"uint96\"},{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint24\",\"name\":\"targetCount\",\"type\":\"uint24\"},{\"internalType\":\"uint24\",\"name\":\"paidCount\",\"type\":\"uint24\"},{\"internalType\":\"uint40\",\"name\":\"reclaimAfter\",\"type\":\"uint40\"},{\"internalType\":\"enumIMissionFactory.CloseReason\",\"name\":\"closed\",\"type\":\"uint8\"}],\"internalType\":\"structIMissionFactory.Mission\",\"name\":\"\",\"type\":\"tuple\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"owner\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pause\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"paused\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pendingDefaultAdmin\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"newAdmin\",\"type\":\"address\"},{\"internalType\":\"uint48\",\"name\":\"schedule\",\"type\":\"uint48\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"pendingDefaultAdminDelay\",\"outputs\":[{\"internalType\":\"uint48\",\"name\":\"newDelay\",\"type\":\"uint48\"},{\"internalType\":\"uint48\",\"name\":\"schedule\",\"type\":\"uint48\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"name\":\"reclaim\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"}],\"name\":\"remaining\",\"outputs\":[{\"internalType\":\"uint256\",\"name\":\"\",\"type\":\"uint256\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"renounceRole\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"revokeAuthorization\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"role\",\"type\":\"bytes32\"},{\"internalType\":\"address\",\"name\":\"account\",\"type\":\"address\"}],\"name\":\"revokeRole\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"creator\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"nonce\",\"type\":\"bytes32\"}],\"name\":\"revoked\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"rollbackDefaultAdminDelay\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"serviceToken\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"address\",\"name\":\"token\",\"type\":\"address\"},{\"internalType\":\"uint256\",\"name\":\"limit\",\"type\":\"uint256\"}],\"name\":\"setDailyCap\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes32\",\"name\":\"missionKey\",\"type\":\"bytes32\"},{\"components\":[{\"internalType\":\"uint24\",\"name\":\"slot\",\"type\":\"uint24\"},{\"internalType\":\"address\",\"name\":\"recipient\",\"type\":\"address\"},{\"internalType\":\"bytes32\",\"name\":\"submissionKey\",\"type\":\"bytes32\"}],\"internalType\":\"structIMissionFactory.Payment[]\",\"name\":\"payments\",\"type\":\"tuple[]\"},{\"internalType\":\"bytes\",\"name\":\"signature\",\"type\":\"bytes\"}],\"name\":\"settle\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[{\"internalType\":\"bytes4\",\"name\":\"interfaceId\",\"type\":\"bytes4\"}],\"name\":\"supportsInterface\",\"outputs\":[{\"internalType\":\"bool\",\"name\":\"\",\"type\":\"bool\"}],\"stateMutability\":\"view\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"unpause\",\"outputs\":[],\"stateMutability\":\"nonpayable\",\"type\":\"function\"},{\"inputs\":[],\"name\":\"usdc\",\"outputs\":[{\"internalType\":\"address\",\"name\":\"\",\"type\":\"address\"}],\"stateMutability\":\"view\",\"type\":\"function\"}]",
	ID:  "MissionFactory",
}

// MissionFactory is an auto generated Go binding around an Ethereum contract.
type MissionFactory struct {
	abi abi.ABI
}

// GetABI returns the ABI associated with this contract binding.
func (c *MissionFactory) GetABI() abi.ABI {
	return c.abi
}

// NewMissionFactory creates a new instance of MissionFactory.
func NewMissionFactory() *MissionFactory {
	parsed, err := MissionFactoryMetaData.ParseABI()
	if err != nil {
		panic(errors.New("invalid ABI: " + err.Error()))
	}
	return &MissionFactory{abi: *parsed}
}

// Instance creates a wrapper for a deployed contract instance at the given address.
// Use this to create the instance object passed to abigen v2 library functions Call, Transact, etc.
func (c *MissionFactory) Instance(backend bind.ContractBackend, addr common.Address) *bind.BoundContract {
	return bind.NewBoundContract(addr, c.abi, backend, backend, backend)
}

// PackConstructor is the Go binding used to pack the parameters required for
// contract deployment.
//
// Solidity: constructor(address admin, uint48 adminDelay, address authorizer, address settler, address pauser, address serviceToken_, address usdc_, uint256 serviceTokenCap, uint256 usdcCap) returns()
func (missionFactory *MissionFactory) PackConstructor(admin common.Address, adminDelay *big.Int, authorizer common.Address, settler common.Address, pauser common.Address, serviceToken_ common.Address, usdc_ common.Address, serviceTokenCap *big.Int, usdcCap *big.Int) []byte {
	enc, err := missionFactory.abi.Pack("", admin, adminDelay, authorizer, settler, pauser, serviceToken_, usdc_, serviceTokenCap, usdcCap)
	if err != nil {
		panic(err)
	}
	return enc
}

// PackAUTHORIZERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc06946f.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function AUTHORIZER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) PackAUTHORIZERROLE() []byte {
	enc, err := missionFactory.abi.Pack("AUTHORIZER_ROLE")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAUTHORIZERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc06946f.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function AUTHORIZER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) TryPackAUTHORIZERROLE() ([]byte, error) {
	return missionFactory.abi.Pack("AUTHORIZER_ROLE")
}

// UnpackAUTHORIZERROLE is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xbc06946f.
//
// Solidity: function AUTHORIZER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) UnpackAUTHORIZERROLE(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("AUTHORIZER_ROLE", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackDEFAULTADMINROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa217fddf.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function DEFAULT_ADMIN_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) PackDEFAULTADMINROLE() []byte {
	enc, err := missionFactory.abi.Pack("DEFAULT_ADMIN_ROLE")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDEFAULTADMINROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa217fddf.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function DEFAULT_ADMIN_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) TryPackDEFAULTADMINROLE() ([]byte, error) {
	return missionFactory.abi.Pack("DEFAULT_ADMIN_ROLE")
}

// UnpackDEFAULTADMINROLE is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa217fddf.
//
// Solidity: function DEFAULT_ADMIN_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) UnpackDEFAULTADMINROLE(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("DEFAULT_ADMIN_ROLE", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackPAUSERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe63ab1e9.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function PAUSER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) PackPAUSERROLE() []byte {
	enc, err := missionFactory.abi.Pack("PAUSER_ROLE")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPAUSERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe63ab1e9.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function PAUSER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) TryPackPAUSERROLE() ([]byte, error) {
	return missionFactory.abi.Pack("PAUSER_ROLE")
}

// UnpackPAUSERROLE is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe63ab1e9.
//
// Solidity: function PAUSER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) UnpackPAUSERROLE(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("PAUSER_ROLE", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackSETTLERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7445e85c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function SETTLER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) PackSETTLERROLE() []byte {
	enc, err := missionFactory.abi.Pack("SETTLER_ROLE")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSETTLERROLE is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x7445e85c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function SETTLER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) TryPackSETTLERROLE() ([]byte, error) {
	return missionFactory.abi.Pack("SETTLER_ROLE")
}

// UnpackSETTLERROLE is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x7445e85c.
//
// Solidity: function SETTLER_ROLE() view returns(bytes32)
func (missionFactory *MissionFactory) UnpackSETTLERROLE(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("SETTLER_ROLE", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackAcceptDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcefc1429.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function acceptDefaultAdminTransfer() returns()
func (missionFactory *MissionFactory) PackAcceptDefaultAdminTransfer() []byte {
	enc, err := missionFactory.abi.Pack("acceptDefaultAdminTransfer")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackAcceptDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcefc1429.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function acceptDefaultAdminTransfer() returns()
func (missionFactory *MissionFactory) TryPackAcceptDefaultAdminTransfer() ([]byte, error) {
	return missionFactory.abi.Pack("acceptDefaultAdminTransfer")
}

// PackBeginDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x634e93da.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function beginDefaultAdminTransfer(address newAdmin) returns()
func (missionFactory *MissionFactory) PackBeginDefaultAdminTransfer(newAdmin common.Address) []byte {
	enc, err := missionFactory.abi.Pack("beginDefaultAdminTransfer", newAdmin)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackBeginDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x634e93da.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function beginDefaultAdminTransfer(address newAdmin) returns()
func (missionFactory *MissionFactory) TryPackBeginDefaultAdminTransfer(newAdmin common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("beginDefaultAdminTransfer", newAdmin)
}

// PackCancelDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd602b9fd.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function cancelDefaultAdminTransfer() returns()
func (missionFactory *MissionFactory) PackCancelDefaultAdminTransfer() []byte {
	enc, err := missionFactory.abi.Pack("cancelDefaultAdminTransfer")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCancelDefaultAdminTransfer is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd602b9fd.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function cancelDefaultAdminTransfer() returns()
func (missionFactory *MissionFactory) TryPackCancelDefaultAdminTransfer() ([]byte, error) {
	return missionFactory.abi.Pack("cancelDefaultAdminTransfer")
}

// PackChangeDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x649a5ec7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function changeDefaultAdminDelay(uint48 newDelay) returns()
func (missionFactory *MissionFactory) PackChangeDefaultAdminDelay(newDelay *big.Int) []byte {
	enc, err := missionFactory.abi.Pack("changeDefaultAdminDelay", newDelay)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackChangeDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x649a5ec7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function changeDefaultAdminDelay(uint48 newDelay) returns()
func (missionFactory *MissionFactory) TryPackChangeDefaultAdminDelay(newDelay *big.Int) ([]byte, error) {
	return missionFactory.abi.Pack("changeDefaultAdminDelay", newDelay)
}

// PackClaimDeferred is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfee47650.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function claimDeferred(address token, address account) returns()
func (missionFactory *MissionFactory) PackClaimDeferred(token common.Address, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("claimDeferred", token, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackClaimDeferred is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xfee47650.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function claimDeferred(address token, address account) returns()
func (missionFactory *MissionFactory) TryPackClaimDeferred(token common.Address, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("claimDeferred", token, account)
}

// PackClose is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xacdee66a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function close(bytes32 missionKey, uint256 paidCount, bytes signature) returns()
func (missionFactory *MissionFactory) PackClose(missionKey [32]byte, paidCount *big.Int, signature []byte) []byte {
	enc, err := missionFactory.abi.Pack("close", missionKey, paidCount, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackClose is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xacdee66a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function close(bytes32 missionKey, uint256 paidCount, bytes signature) returns()
func (missionFactory *MissionFactory) TryPackClose(missionKey [32]byte, paidCount *big.Int, signature []byte) ([]byte, error) {
	return missionFactory.abi.Pack("close", missionKey, paidCount, signature)
}

// PackCreateAuthorizedFundedMission is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc7c2731e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function createAuthorizedFundedMission((string,address,uint256,uint256,address,bytes32,uint256) authorization, bytes signature) returns(bytes32 missionKey)
func (missionFactory *MissionFactory) PackCreateAuthorizedFundedMission(authorization IMissionFactoryMissionAuthorization, signature []byte) []byte {
	enc, err := missionFactory.abi.Pack("createAuthorizedFundedMission", authorization, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackCreateAuthorizedFundedMission is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xc7c2731e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function createAuthorizedFundedMission((string,address,uint256,uint256,address,bytes32,uint256) authorization, bytes signature) returns(bytes32 missionKey)
func (missionFactory *MissionFactory) TryPackCreateAuthorizedFundedMission(authorization IMissionFactoryMissionAuthorization, signature []byte) ([]byte, error) {
	return missionFactory.abi.Pack("createAuthorizedFundedMission", authorization, signature)
}

// UnpackCreateAuthorizedFundedMission is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xc7c2731e.
//
// Solidity: function createAuthorizedFundedMission((string,address,uint256,uint256,address,bytes32,uint256) authorization, bytes signature) returns(bytes32 missionKey)
func (missionFactory *MissionFactory) UnpackCreateAuthorizedFundedMission(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("createAuthorizedFundedMission", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackDailyCaps is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3d3df3d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function dailyCaps(address token) view returns(uint256 limit, uint256 spent, uint256 day)
func (missionFactory *MissionFactory) PackDailyCaps(token common.Address) []byte {
	enc, err := missionFactory.abi.Pack("dailyCaps", token)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDailyCaps is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe3d3df3d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function dailyCaps(address token) view returns(uint256 limit, uint256 spent, uint256 day)
func (missionFactory *MissionFactory) TryPackDailyCaps(token common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("dailyCaps", token)
}

// DailyCapsOutput serves as a container for the return parameters of contract
// method DailyCaps.
type DailyCapsOutput struct {
	Limit *big.Int
	Spent *big.Int
	Day   *big.Int
}

// UnpackDailyCaps is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe3d3df3d.
//
// Solidity: function dailyCaps(address token) view returns(uint256 limit, uint256 spent, uint256 day)
func (missionFactory *MissionFactory) UnpackDailyCaps(data []byte) (DailyCapsOutput, error) {
	out, err := missionFactory.abi.Unpack("dailyCaps", data)
	outstruct := new(DailyCapsOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Limit = abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	outstruct.Spent = abi.ConvertType(out[1], new(big.Int)).(*big.Int)
	outstruct.Day = abi.ConvertType(out[2], new(big.Int)).(*big.Int)
	return *outstruct, nil
}

// PackDefaultAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84ef8ffc.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function defaultAdmin() view returns(address)
func (missionFactory *MissionFactory) PackDefaultAdmin() []byte {
	enc, err := missionFactory.abi.Pack("defaultAdmin")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDefaultAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84ef8ffc.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function defaultAdmin() view returns(address)
func (missionFactory *MissionFactory) TryPackDefaultAdmin() ([]byte, error) {
	return missionFactory.abi.Pack("defaultAdmin")
}

// UnpackDefaultAdmin is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x84ef8ffc.
//
// Solidity: function defaultAdmin() view returns(address)
func (missionFactory *MissionFactory) UnpackDefaultAdmin(data []byte) (common.Address, error) {
	out, err := missionFactory.abi.Unpack("defaultAdmin", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcc8463c8.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function defaultAdminDelay() view returns(uint48)
func (missionFactory *MissionFactory) PackDefaultAdminDelay() []byte {
	enc, err := missionFactory.abi.Pack("defaultAdminDelay")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcc8463c8.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function defaultAdminDelay() view returns(uint48)
func (missionFactory *MissionFactory) TryPackDefaultAdminDelay() ([]byte, error) {
	return missionFactory.abi.Pack("defaultAdminDelay")
}

// UnpackDefaultAdminDelay is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xcc8463c8.
//
// Solidity: function defaultAdminDelay() view returns(uint48)
func (missionFactory *MissionFactory) UnpackDefaultAdminDelay(data []byte) (*big.Int, error) {
	out, err := missionFactory.abi.Unpack("defaultAdminDelay", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackDefaultAdminDelayIncreaseWait is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x022d63fb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function defaultAdminDelayIncreaseWait() view returns(uint48)
func (missionFactory *MissionFactory) PackDefaultAdminDelayIncreaseWait() []byte {
	enc, err := missionFactory.abi.Pack("defaultAdminDelayIncreaseWait")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDefaultAdminDelayIncreaseWait is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x022d63fb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function defaultAdminDelayIncreaseWait() view returns(uint48)
func (missionFactory *MissionFactory) TryPackDefaultAdminDelayIncreaseWait() ([]byte, error) {
	return missionFactory.abi.Pack("defaultAdminDelayIncreaseWait")
}

// UnpackDefaultAdminDelayIncreaseWait is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x022d63fb.
//
// Solidity: function defaultAdminDelayIncreaseWait() view returns(uint48)
func (missionFactory *MissionFactory) UnpackDefaultAdminDelayIncreaseWait(data []byte) (*big.Int, error) {
	out, err := missionFactory.abi.Unpack("defaultAdminDelayIncreaseWait", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackDeferred is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xce1afda1.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function deferred(address token, address account) view returns(uint256)
func (missionFactory *MissionFactory) PackDeferred(token common.Address, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("deferred", token, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackDeferred is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xce1afda1.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function deferred(address token, address account) view returns(uint256)
func (missionFactory *MissionFactory) TryPackDeferred(token common.Address, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("deferred", token, account)
}

// UnpackDeferred is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xce1afda1.
//
// Solidity: function deferred(address token, address account) view returns(uint256)
func (missionFactory *MissionFactory) UnpackDeferred(data []byte) (*big.Int, error) {
	out, err := missionFactory.abi.Unpack("deferred", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (missionFactory *MissionFactory) PackEip712Domain() []byte {
	enc, err := missionFactory.abi.Pack("eip712Domain")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackEip712Domain is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x84b0196e.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (missionFactory *MissionFactory) TryPackEip712Domain() ([]byte, error) {
	return missionFactory.abi.Pack("eip712Domain")
}

// Eip712DomainOutput serves as a container for the return parameters of contract
// method Eip712Domain.
type Eip712DomainOutput struct {
	Fields            [1]byte
	Name              string
	Version           string
	ChainId           *big.Int
	VerifyingContract common.Address
	Salt              [32]byte
	Extensions        []*big.Int
}

// UnpackEip712Domain is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x84b0196e.
//
// Solidity: function eip712Domain() view returns(bytes1 fields, string name, string version, uint256 chainId, address verifyingContract, bytes32 salt, uint256[] extensions)
func (missionFactory *MissionFactory) UnpackEip712Domain(data []byte) (Eip712DomainOutput, error) {
	out, err := missionFactory.abi.Unpack("eip712Domain", data)
	outstruct := new(Eip712DomainOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.Fields = *abi.ConvertType(out[0], new([1]byte)).(*[1]byte)
	outstruct.Name = *abi.ConvertType(out[1], new(string)).(*string)
	outstruct.Version = *abi.ConvertType(out[2], new(string)).(*string)
	outstruct.ChainId = abi.ConvertType(out[3], new(big.Int)).(*big.Int)
	outstruct.VerifyingContract = *abi.ConvertType(out[4], new(common.Address)).(*common.Address)
	outstruct.Salt = *abi.ConvertType(out[5], new([32]byte)).(*[32]byte)
	outstruct.Extensions = *abi.ConvertType(out[6], new([]*big.Int)).(*[]*big.Int)
	return *outstruct, nil
}

// PackGetRoleAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x248a9ca3.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function getRoleAdmin(bytes32 role) view returns(bytes32)
func (missionFactory *MissionFactory) PackGetRoleAdmin(role [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("getRoleAdmin", role)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGetRoleAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x248a9ca3.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function getRoleAdmin(bytes32 role) view returns(bytes32)
func (missionFactory *MissionFactory) TryPackGetRoleAdmin(role [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("getRoleAdmin", role)
}

// UnpackGetRoleAdmin is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x248a9ca3.
//
// Solidity: function getRoleAdmin(bytes32 role) view returns(bytes32)
func (missionFactory *MissionFactory) UnpackGetRoleAdmin(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("getRoleAdmin", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackGrantRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x2f2ff15d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function grantRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) PackGrantRole(role [32]byte, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("grantRole", role, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackGrantRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x2f2ff15d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function grantRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) TryPackGrantRole(role [32]byte, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("grantRole", role, account)
}

// PackHasRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x91d14854.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hasRole(bytes32 role, address account) view returns(bool)
func (missionFactory *MissionFactory) PackHasRole(role [32]byte, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("hasRole", role, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHasRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x91d14854.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hasRole(bytes32 role, address account) view returns(bool)
func (missionFactory *MissionFactory) TryPackHasRole(role [32]byte, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("hasRole", role, account)
}

// UnpackHasRole is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x91d14854.
//
// Solidity: function hasRole(bytes32 role, address account) view returns(bool)
func (missionFactory *MissionFactory) UnpackHasRole(data []byte) (bool, error) {
	out, err := missionFactory.abi.Unpack("hasRole", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackHashAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x02700fe0.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashAuthorization((string,address,uint256,uint256,address,bytes32,uint256) authorization) view returns(bytes32)
func (missionFactory *MissionFactory) PackHashAuthorization(authorization IMissionFactoryMissionAuthorization) []byte {
	enc, err := missionFactory.abi.Pack("hashAuthorization", authorization)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x02700fe0.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashAuthorization((string,address,uint256,uint256,address,bytes32,uint256) authorization) view returns(bytes32)
func (missionFactory *MissionFactory) TryPackHashAuthorization(authorization IMissionFactoryMissionAuthorization) ([]byte, error) {
	return missionFactory.abi.Pack("hashAuthorization", authorization)
}

// UnpackHashAuthorization is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x02700fe0.
//
// Solidity: function hashAuthorization((string,address,uint256,uint256,address,bytes32,uint256) authorization) view returns(bytes32)
func (missionFactory *MissionFactory) UnpackHashAuthorization(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("hashAuthorization", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackHashClose is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4bddd648.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashClose(bytes32 missionKey, uint256 paidCount) view returns(bytes32)
func (missionFactory *MissionFactory) PackHashClose(missionKey [32]byte, paidCount *big.Int) []byte {
	enc, err := missionFactory.abi.Pack("hashClose", missionKey, paidCount)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashClose is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x4bddd648.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashClose(bytes32 missionKey, uint256 paidCount) view returns(bytes32)
func (missionFactory *MissionFactory) TryPackHashClose(missionKey [32]byte, paidCount *big.Int) ([]byte, error) {
	return missionFactory.abi.Pack("hashClose", missionKey, paidCount)
}

// UnpackHashClose is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x4bddd648.
//
// Solidity: function hashClose(bytes32 missionKey, uint256 paidCount) view returns(bytes32)
func (missionFactory *MissionFactory) UnpackHashClose(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("hashClose", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackHashSettlement is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x74222b17.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function hashSettlement(bytes32 missionKey, (uint24,address,bytes32)[] payments) view returns(bytes32)
func (missionFactory *MissionFactory) PackHashSettlement(missionKey [32]byte, payments []IMissionFactoryPayment) []byte {
	enc, err := missionFactory.abi.Pack("hashSettlement", missionKey, payments)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackHashSettlement is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x74222b17.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function hashSettlement(bytes32 missionKey, (uint24,address,bytes32)[] payments) view returns(bytes32)
func (missionFactory *MissionFactory) TryPackHashSettlement(missionKey [32]byte, payments []IMissionFactoryPayment) ([]byte, error) {
	return missionFactory.abi.Pack("hashSettlement", missionKey, payments)
}

// UnpackHashSettlement is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x74222b17.
//
// Solidity: function hashSettlement(bytes32 missionKey, (uint24,address,bytes32)[] payments) view returns(bytes32)
func (missionFactory *MissionFactory) UnpackHashSettlement(data []byte) ([32]byte, error) {
	out, err := missionFactory.abi.Unpack("hashSettlement", data)
	if err != nil {
		return *new([32]byte), err
	}
	out0 := *abi.ConvertType(out[0], new([32]byte)).(*[32]byte)
	return out0, nil
}

// PackIsPaid is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe790ada1.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function isPaid(bytes32 missionKey, uint256 slot) view returns(bool)
func (missionFactory *MissionFactory) PackIsPaid(missionKey [32]byte, slot *big.Int) []byte {
	enc, err := missionFactory.abi.Pack("isPaid", missionKey, slot)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackIsPaid is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe790ada1.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function isPaid(bytes32 missionKey, uint256 slot) view returns(bool)
func (missionFactory *MissionFactory) TryPackIsPaid(missionKey [32]byte, slot *big.Int) ([]byte, error) {
	return missionFactory.abi.Pack("isPaid", missionKey, slot)
}

// UnpackIsPaid is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe790ada1.
//
// Solidity: function isPaid(bytes32 missionKey, uint256 slot) view returns(bool)
func (missionFactory *MissionFactory) UnpackIsPaid(data []byte) (bool, error) {
	out, err := missionFactory.abi.Unpack("isPaid", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackMissions is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5f62e5ad.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function missions(bytes32 missionKey) view returns((address,uint96,address,uint24,uint24,uint40,uint8))
func (missionFactory *MissionFactory) PackMissions(missionKey [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("missions", missionKey)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackMissions is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5f62e5ad.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function missions(bytes32 missionKey) view returns((address,uint96,address,uint24,uint24,uint40,uint8))
func (missionFactory *MissionFactory) TryPackMissions(missionKey [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("missions", missionKey)
}

// UnpackMissions is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5f62e5ad.
//
// Solidity: function missions(bytes32 missionKey) view returns((address,uint96,address,uint24,uint24,uint40,uint8))
func (missionFactory *MissionFactory) UnpackMissions(data []byte) (IMissionFactoryMission, error) {
	out, err := missionFactory.abi.Unpack("missions", data)
	if err != nil {
		return *new(IMissionFactoryMission), err
	}
	out0 := *abi.ConvertType(out[0], new(IMissionFactoryMission)).(*IMissionFactoryMission)
	return out0, nil
}

// PackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function owner() view returns(address)
func (missionFactory *MissionFactory) PackOwner() []byte {
	enc, err := missionFactory.abi.Pack("owner")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackOwner is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8da5cb5b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function owner() view returns(address)
func (missionFactory *MissionFactory) TryPackOwner() ([]byte, error) {
	return missionFactory.abi.Pack("owner")
}

// UnpackOwner is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x8da5cb5b.
//
// Solidity: function owner() view returns(address)
func (missionFactory *MissionFactory) UnpackOwner(data []byte) (common.Address, error) {
	out, err := missionFactory.abi.Unpack("owner", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackPause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8456cb59.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pause() returns()
func (missionFactory *MissionFactory) PackPause() []byte {
	enc, err := missionFactory.abi.Pack("pause")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x8456cb59.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pause() returns()
func (missionFactory *MissionFactory) TryPackPause() ([]byte, error) {
	return missionFactory.abi.Pack("pause")
}

// PackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function paused() view returns(bool)
func (missionFactory *MissionFactory) PackPaused() []byte {
	enc, err := missionFactory.abi.Pack("paused")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPaused is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x5c975abb.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function paused() view returns(bool)
func (missionFactory *MissionFactory) TryPackPaused() ([]byte, error) {
	return missionFactory.abi.Pack("paused")
}

// UnpackPaused is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x5c975abb.
//
// Solidity: function paused() view returns(bool)
func (missionFactory *MissionFactory) UnpackPaused(data []byte) (bool, error) {
	out, err := missionFactory.abi.Unpack("paused", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackPendingDefaultAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcf6eefb7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pendingDefaultAdmin() view returns(address newAdmin, uint48 schedule)
func (missionFactory *MissionFactory) PackPendingDefaultAdmin() []byte {
	enc, err := missionFactory.abi.Pack("pendingDefaultAdmin")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPendingDefaultAdmin is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xcf6eefb7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pendingDefaultAdmin() view returns(address newAdmin, uint48 schedule)
func (missionFactory *MissionFactory) TryPackPendingDefaultAdmin() ([]byte, error) {
	return missionFactory.abi.Pack("pendingDefaultAdmin")
}

// PendingDefaultAdminOutput serves as a container for the return parameters of contract
// method PendingDefaultAdmin.
type PendingDefaultAdminOutput struct {
	NewAdmin common.Address
	Schedule *big.Int
}

// UnpackPendingDefaultAdmin is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xcf6eefb7.
//
// Solidity: function pendingDefaultAdmin() view returns(address newAdmin, uint48 schedule)
func (missionFactory *MissionFactory) UnpackPendingDefaultAdmin(data []byte) (PendingDefaultAdminOutput, error) {
	out, err := missionFactory.abi.Unpack("pendingDefaultAdmin", data)
	outstruct := new(PendingDefaultAdminOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.NewAdmin = *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	outstruct.Schedule = abi.ConvertType(out[1], new(big.Int)).(*big.Int)
	return *outstruct, nil
}

// PackPendingDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa1eda53c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function pendingDefaultAdminDelay() view returns(uint48 newDelay, uint48 schedule)
func (missionFactory *MissionFactory) PackPendingDefaultAdminDelay() []byte {
	enc, err := missionFactory.abi.Pack("pendingDefaultAdminDelay")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackPendingDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xa1eda53c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function pendingDefaultAdminDelay() view returns(uint48 newDelay, uint48 schedule)
func (missionFactory *MissionFactory) TryPackPendingDefaultAdminDelay() ([]byte, error) {
	return missionFactory.abi.Pack("pendingDefaultAdminDelay")
}

// PendingDefaultAdminDelayOutput serves as a container for the return parameters of contract
// method PendingDefaultAdminDelay.
type PendingDefaultAdminDelayOutput struct {
	NewDelay *big.Int
	Schedule *big.Int
}

// UnpackPendingDefaultAdminDelay is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xa1eda53c.
//
// Solidity: function pendingDefaultAdminDelay() view returns(uint48 newDelay, uint48 schedule)
func (missionFactory *MissionFactory) UnpackPendingDefaultAdminDelay(data []byte) (PendingDefaultAdminDelayOutput, error) {
	out, err := missionFactory.abi.Unpack("pendingDefaultAdminDelay", data)
	outstruct := new(PendingDefaultAdminDelayOutput)
	if err != nil {
		return *outstruct, err
	}
	outstruct.NewDelay = abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	outstruct.Schedule = abi.ConvertType(out[1], new(big.Int)).(*big.Int)
	return *outstruct, nil
}

// PackReclaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x96afb365.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function reclaim(bytes32 missionKey) returns()
func (missionFactory *MissionFactory) PackReclaim(missionKey [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("reclaim", missionKey)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackReclaim is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x96afb365.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function reclaim(bytes32 missionKey) returns()
func (missionFactory *MissionFactory) TryPackReclaim(missionKey [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("reclaim", missionKey)
}

// PackRemaining is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc1ed74c.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function remaining(bytes32 missionKey) view returns(uint256)
func (missionFactory *MissionFactory) PackRemaining(missionKey [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("remaining", missionKey)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRemaining is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xbc1ed74c.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function remaining(bytes32 missionKey) view returns(uint256)
func (missionFactory *MissionFactory) TryPackRemaining(missionKey [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("remaining", missionKey)
}

// UnpackRemaining is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xbc1ed74c.
//
// Solidity: function remaining(bytes32 missionKey) view returns(uint256)
func (missionFactory *MissionFactory) UnpackRemaining(data []byte) (*big.Int, error) {
	out, err := missionFactory.abi.Unpack("remaining", data)
	if err != nil {
		return new(big.Int), err
	}
	out0 := abi.ConvertType(out[0], new(big.Int)).(*big.Int)
	return out0, nil
}

// PackRenounceRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x36568abe.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function renounceRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) PackRenounceRole(role [32]byte, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("renounceRole", role, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRenounceRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x36568abe.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function renounceRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) TryPackRenounceRole(role [32]byte, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("renounceRole", role, account)
}

// PackRevokeAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf6d9850d.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function revokeAuthorization(address creator, bytes32 nonce) returns()
func (missionFactory *MissionFactory) PackRevokeAuthorization(creator common.Address, nonce [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("revokeAuthorization", creator, nonce)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRevokeAuthorization is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xf6d9850d.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function revokeAuthorization(address creator, bytes32 nonce) returns()
func (missionFactory *MissionFactory) TryPackRevokeAuthorization(creator common.Address, nonce [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("revokeAuthorization", creator, nonce)
}

// PackRevokeRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd547741f.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function revokeRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) PackRevokeRole(role [32]byte, account common.Address) []byte {
	enc, err := missionFactory.abi.Pack("revokeRole", role, account)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRevokeRole is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xd547741f.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function revokeRole(bytes32 role, address account) returns()
func (missionFactory *MissionFactory) TryPackRevokeRole(role [32]byte, account common.Address) ([]byte, error) {
	return missionFactory.abi.Pack("revokeRole", role, account)
}

// PackRevoked is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe46e3846.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function revoked(address creator, bytes32 nonce) view returns(bool)
func (missionFactory *MissionFactory) PackRevoked(creator common.Address, nonce [32]byte) []byte {
	enc, err := missionFactory.abi.Pack("revoked", creator, nonce)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRevoked is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xe46e3846.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function revoked(address creator, bytes32 nonce) view returns(bool)
func (missionFactory *MissionFactory) TryPackRevoked(creator common.Address, nonce [32]byte) ([]byte, error) {
	return missionFactory.abi.Pack("revoked", creator, nonce)
}

// UnpackRevoked is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xe46e3846.
//
// Solidity: function revoked(address creator, bytes32 nonce) view returns(bool)
func (missionFactory *MissionFactory) UnpackRevoked(data []byte) (bool, error) {
	out, err := missionFactory.abi.Unpack("revoked", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackRollbackDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0aa6220b.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function rollbackDefaultAdminDelay() returns()
func (missionFactory *MissionFactory) PackRollbackDefaultAdminDelay() []byte {
	enc, err := missionFactory.abi.Pack("rollbackDefaultAdminDelay")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackRollbackDefaultAdminDelay is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x0aa6220b.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function rollbackDefaultAdminDelay() returns()
func (missionFactory *MissionFactory) TryPackRollbackDefaultAdminDelay() ([]byte, error) {
	return missionFactory.abi.Pack("rollbackDefaultAdminDelay")
}

// PackServiceToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb7692968.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function serviceToken() view returns(address)
func (missionFactory *MissionFactory) PackServiceToken() []byte {
	enc, err := missionFactory.abi.Pack("serviceToken")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackServiceToken is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xb7692968.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function serviceToken() view returns(address)
func (missionFactory *MissionFactory) TryPackServiceToken() ([]byte, error) {
	return missionFactory.abi.Pack("serviceToken")
}

// UnpackServiceToken is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0xb7692968.
//
// Solidity: function serviceToken() view returns(address)
func (missionFactory *MissionFactory) UnpackServiceToken(data []byte) (common.Address, error) {
	out, err := missionFactory.abi.Unpack("serviceToken", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// PackSetDailyCap is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xda09a331.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function setDailyCap(address token, uint256 limit) returns()
func (missionFactory *MissionFactory) PackSetDailyCap(token common.Address, limit *big.Int) []byte {
	enc, err := missionFactory.abi.Pack("setDailyCap", token, limit)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSetDailyCap is the Go binding used to pack the parameters required for calling
// the contract method with ID 0xda09a331.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function setDailyCap(address token, uint256 limit) returns()
func (missionFactory *MissionFactory) TryPackSetDailyCap(token common.Address, limit *big.Int) ([]byte, error) {
	return missionFactory.abi.Pack("setDailyCap", token, limit)
}

// PackSettle is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x69e6e6ed.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function settle(bytes32 missionKey, (uint24,address,bytes32)[] payments, bytes signature) returns()
func (missionFactory *MissionFactory) PackSettle(missionKey [32]byte, payments []IMissionFactoryPayment, signature []byte) []byte {
	enc, err := missionFactory.abi.Pack("settle", missionKey, payments, signature)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSettle is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x69e6e6ed.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function settle(bytes32 missionKey, (uint24,address,bytes32)[] payments, bytes signature) returns()
func (missionFactory *MissionFactory) TryPackSettle(missionKey [32]byte, payments []IMissionFactoryPayment, signature []byte) ([]byte, error) {
	return missionFactory.abi.Pack("settle", missionKey, payments, signature)
}

// PackSupportsInterface is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x01ffc9a7.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function supportsInterface(bytes4 interfaceId) view returns(bool)
func (missionFactory *MissionFactory) PackSupportsInterface(interfaceId [4]byte) []byte {
	enc, err := missionFactory.abi.Pack("supportsInterface", interfaceId)
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackSupportsInterface is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x01ffc9a7.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function supportsInterface(bytes4 interfaceId) view returns(bool)
func (missionFactory *MissionFactory) TryPackSupportsInterface(interfaceId [4]byte) ([]byte, error) {
	return missionFactory.abi.Pack("supportsInterface", interfaceId)
}

// UnpackSupportsInterface is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x01ffc9a7.
//
// Solidity: function supportsInterface(bytes4 interfaceId) view returns(bool)
func (missionFactory *MissionFactory) UnpackSupportsInterface(data []byte) (bool, error) {
	out, err := missionFactory.abi.Unpack("supportsInterface", data)
	if err != nil {
		return *new(bool), err
	}
	out0 := *abi.ConvertType(out[0], new(bool)).(*bool)
	return out0, nil
}

// PackUnpause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3f4ba83a.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function unpause() returns()
func (missionFactory *MissionFactory) PackUnpause() []byte {
	enc, err := missionFactory.abi.Pack("unpause")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackUnpause is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3f4ba83a.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function unpause() returns()
func (missionFactory *MissionFactory) TryPackUnpause() ([]byte, error) {
	return missionFactory.abi.Pack("unpause")
}

// PackUsdc is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3e413bee.  This method will panic if any
// invalid/nil inputs are passed.
//
// Solidity: function usdc() view returns(address)
func (missionFactory *MissionFactory) PackUsdc() []byte {
	enc, err := missionFactory.abi.Pack("usdc")
	if err != nil {
		panic(err)
	}
	return enc
}

// TryPackUsdc is the Go binding used to pack the parameters required for calling
// the contract method with ID 0x3e413bee.  This method will return an error
// if any inputs are invalid/nil.
//
// Solidity: function usdc() view returns(address)
func (missionFactory *MissionFactory) TryPackUsdc() ([]byte, error) {
	return missionFactory.abi.Pack("usdc")
}

// UnpackUsdc is the Go binding that unpacks the parameters returned
// from invoking the contract method with ID 0x3e413bee.
//
// Solidity: function usdc() view returns(address)
func (missionFactory *MissionFactory) UnpackUsdc(data []byte) (common.Address, error) {
	out, err := missionFactory.abi.Unpack("usdc", data)
	if err != nil {
		return *new(common.Address), err
	}
	out0 := *abi.ConvertType(out[0], new(common.Address)).(*common.Address)
	return out0, nil
}

// MissionFactoryAuthorizationRevoked represents a AuthorizationRevoked event raised by the MissionFactory contract.
type MissionFactoryAuthorizationRevoked struct {
	Creator common.Address
	Nonce   [32]byte
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryAuthorizationRevokedEventName = "AuthorizationRevoked"

// ContractEventName returns the user-defined event name.
func (MissionFactoryAuthorizationRevoked) ContractEventName() string {
	return MissionFactoryAuthorizationRevokedEventName
}

// UnpackAuthorizationRevokedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event AuthorizationRevoked(address indexed creator, bytes32 indexed nonce)
func (missionFactory *MissionFactory) UnpackAuthorizationRevokedEvent(log *types.Log) (*MissionFactoryAuthorizationRevoked, error) {
	event := "AuthorizationRevoked"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryAuthorizationRevoked)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDailyCapSet represents a DailyCapSet event raised by the MissionFactory contract.
type MissionFactoryDailyCapSet struct {
	Token common.Address
	Limit *big.Int
	Raw   *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDailyCapSetEventName = "DailyCapSet"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDailyCapSet) ContractEventName() string {
	return MissionFactoryDailyCapSetEventName
}

// UnpackDailyCapSetEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DailyCapSet(address indexed token, uint256 limit)
func (missionFactory *MissionFactory) UnpackDailyCapSetEvent(log *types.Log) (*MissionFactoryDailyCapSet, error) {
	event := "DailyCapSet"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDailyCapSet)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDefaultAdminDelayChangeCanceled represents a DefaultAdminDelayChangeCanceled event raised by the MissionFactory contract.
type MissionFactoryDefaultAdminDelayChangeCanceled struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDefaultAdminDelayChangeCanceledEventName = "DefaultAdminDelayChangeCanceled"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDefaultAdminDelayChangeCanceled) ContractEventName() string {
	return MissionFactoryDefaultAdminDelayChangeCanceledEventName
}

// UnpackDefaultAdminDelayChangeCanceledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DefaultAdminDelayChangeCanceled()
func (missionFactory *MissionFactory) UnpackDefaultAdminDelayChangeCanceledEvent(log *types.Log) (*MissionFactoryDefaultAdminDelayChangeCanceled, error) {
	event := "DefaultAdminDelayChangeCanceled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDefaultAdminDelayChangeCanceled)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDefaultAdminDelayChangeScheduled represents a DefaultAdminDelayChangeScheduled event raised by the MissionFactory contract.
type MissionFactoryDefaultAdminDelayChangeScheduled struct {
	NewDelay       *big.Int
	EffectSchedule *big.Int
	Raw            *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDefaultAdminDelayChangeScheduledEventName = "DefaultAdminDelayChangeScheduled"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDefaultAdminDelayChangeScheduled) ContractEventName() string {
	return MissionFactoryDefaultAdminDelayChangeScheduledEventName
}

// UnpackDefaultAdminDelayChangeScheduledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DefaultAdminDelayChangeScheduled(uint48 newDelay, uint48 effectSchedule)
func (missionFactory *MissionFactory) UnpackDefaultAdminDelayChangeScheduledEvent(log *types.Log) (*MissionFactoryDefaultAdminDelayChangeScheduled, error) {
	event := "DefaultAdminDelayChangeScheduled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDefaultAdminDelayChangeScheduled)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDefaultAdminTransferCanceled represents a DefaultAdminTransferCanceled event raised by the MissionFactory contract.
type MissionFactoryDefaultAdminTransferCanceled struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDefaultAdminTransferCanceledEventName = "DefaultAdminTransferCanceled"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDefaultAdminTransferCanceled) ContractEventName() string {
	return MissionFactoryDefaultAdminTransferCanceledEventName
}

// UnpackDefaultAdminTransferCanceledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DefaultAdminTransferCanceled()
func (missionFactory *MissionFactory) UnpackDefaultAdminTransferCanceledEvent(log *types.Log) (*MissionFactoryDefaultAdminTransferCanceled, error) {
	event := "DefaultAdminTransferCanceled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDefaultAdminTransferCanceled)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDefaultAdminTransferScheduled represents a DefaultAdminTransferScheduled event raised by the MissionFactory contract.
type MissionFactoryDefaultAdminTransferScheduled struct {
	NewAdmin       common.Address
	AcceptSchedule *big.Int
	Raw            *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDefaultAdminTransferScheduledEventName = "DefaultAdminTransferScheduled"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDefaultAdminTransferScheduled) ContractEventName() string {
	return MissionFactoryDefaultAdminTransferScheduledEventName
}

// UnpackDefaultAdminTransferScheduledEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DefaultAdminTransferScheduled(address indexed newAdmin, uint48 acceptSchedule)
func (missionFactory *MissionFactory) UnpackDefaultAdminTransferScheduledEvent(log *types.Log) (*MissionFactoryDefaultAdminTransferScheduled, error) {
	event := "DefaultAdminTransferScheduled"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDefaultAdminTransferScheduled)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryDeferredClaimed represents a DeferredClaimed event raised by the MissionFactory contract.
type MissionFactoryDeferredClaimed struct {
	Token   common.Address
	Account common.Address
	Amount  *big.Int
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryDeferredClaimedEventName = "DeferredClaimed"

// ContractEventName returns the user-defined event name.
func (MissionFactoryDeferredClaimed) ContractEventName() string {
	return MissionFactoryDeferredClaimedEventName
}

// UnpackDeferredClaimedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event DeferredClaimed(address indexed token, address indexed account, uint256 amount)
func (missionFactory *MissionFactory) UnpackDeferredClaimedEvent(log *types.Log) (*MissionFactoryDeferredClaimed, error) {
	event := "DeferredClaimed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryDeferredClaimed)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryEIP712DomainChanged represents a EIP712DomainChanged event raised by the MissionFactory contract.
type MissionFactoryEIP712DomainChanged struct {
	Raw *types.Log // Blockchain specific contextual infos
}

const MissionFactoryEIP712DomainChangedEventName = "EIP712DomainChanged"

// ContractEventName returns the user-defined event name.
func (MissionFactoryEIP712DomainChanged) ContractEventName() string {
	return MissionFactoryEIP712DomainChangedEventName
}

// UnpackEIP712DomainChangedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event EIP712DomainChanged()
func (missionFactory *MissionFactory) UnpackEIP712DomainChangedEvent(log *types.Log) (*MissionFactoryEIP712DomainChanged, error) {
	event := "EIP712DomainChanged"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryEIP712DomainChanged)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryMissionClosed represents a MissionClosed event raised by the MissionFactory contract.
type MissionFactoryMissionClosed struct {
	MissionKey     [32]byte
	Refund         *big.Int
	RefundDeferred bool
	Reason         uint8
	Raw            *types.Log // Blockchain specific contextual infos
}

const MissionFactoryMissionClosedEventName = "MissionClosed"

// ContractEventName returns the user-defined event name.
func (MissionFactoryMissionClosed) ContractEventName() string {
	return MissionFactoryMissionClosedEventName
}

// UnpackMissionClosedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event MissionClosed(bytes32 indexed missionKey, uint256 refund, bool refundDeferred, uint8 reason)
func (missionFactory *MissionFactory) UnpackMissionClosedEvent(log *types.Log) (*MissionFactoryMissionClosed, error) {
	event := "MissionClosed"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryMissionClosed)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryMissionFunded represents a MissionFunded event raised by the MissionFactory contract.
type MissionFactoryMissionFunded struct {
	MissionKey          [32]byte
	Creator             common.Address
	Token               common.Address
	MissionId           string
	RewardPerSubmission *big.Int
	TargetCount         *big.Int
	Nonce               [32]byte
	ReclaimAfter        *big.Int
	Raw                 *types.Log // Blockchain specific contextual infos
}

const MissionFactoryMissionFundedEventName = "MissionFunded"

// ContractEventName returns the user-defined event name.
func (MissionFactoryMissionFunded) ContractEventName() string {
	return MissionFactoryMissionFundedEventName
}

// UnpackMissionFundedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event MissionFunded(bytes32 indexed missionKey, address indexed creator, address indexed token, string missionId, uint256 rewardPerSubmission, uint256 targetCount, bytes32 nonce, uint256 reclaimAfter)
func (missionFactory *MissionFactory) UnpackMissionFundedEvent(log *types.Log) (*MissionFactoryMissionFunded, error) {
	event := "MissionFunded"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryMissionFunded)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryPaused represents a Paused event raised by the MissionFactory contract.
type MissionFactoryPaused struct {
	Account common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryPausedEventName = "Paused"

// ContractEventName returns the user-defined event name.
func (MissionFactoryPaused) ContractEventName() string {
	return MissionFactoryPausedEventName
}

// UnpackPausedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Paused(address account)
func (missionFactory *MissionFactory) UnpackPausedEvent(log *types.Log) (*MissionFactoryPaused, error) {
	event := "Paused"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryPaused)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryPayoutDeferred represents a PayoutDeferred event raised by the MissionFactory contract.
type MissionFactoryPayoutDeferred struct {
	MissionKey    [32]byte
	SubmissionKey [32]byte
	Recipient     common.Address
	Slot          *big.Int
	Amount        *big.Int
	Raw           *types.Log // Blockchain specific contextual infos
}

const MissionFactoryPayoutDeferredEventName = "PayoutDeferred"

// ContractEventName returns the user-defined event name.
func (MissionFactoryPayoutDeferred) ContractEventName() string {
	return MissionFactoryPayoutDeferredEventName
}

// UnpackPayoutDeferredEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event PayoutDeferred(bytes32 indexed missionKey, bytes32 indexed submissionKey, address indexed recipient, uint256 slot, uint256 amount)
func (missionFactory *MissionFactory) UnpackPayoutDeferredEvent(log *types.Log) (*MissionFactoryPayoutDeferred, error) {
	event := "PayoutDeferred"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryPayoutDeferred)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryRoleAdminChanged represents a RoleAdminChanged event raised by the MissionFactory contract.
type MissionFactoryRoleAdminChanged struct {
	Role              [32]byte
	PreviousAdminRole [32]byte
	NewAdminRole      [32]byte
	Raw               *types.Log // Blockchain specific contextual infos
}

const MissionFactoryRoleAdminChangedEventName = "RoleAdminChanged"

// ContractEventName returns the user-defined event name.
func (MissionFactoryRoleAdminChanged) ContractEventName() string {
	return MissionFactoryRoleAdminChangedEventName
}

// UnpackRoleAdminChangedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RoleAdminChanged(bytes32 indexed role, bytes32 indexed previousAdminRole, bytes32 indexed newAdminRole)
func (missionFactory *MissionFactory) UnpackRoleAdminChangedEvent(log *types.Log) (*MissionFactoryRoleAdminChanged, error) {
	event := "RoleAdminChanged"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryRoleAdminChanged)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryRoleGranted represents a RoleGranted event raised by the MissionFactory contract.
type MissionFactoryRoleGranted struct {
	Role    [32]byte
	Account common.Address
	Sender  common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryRoleGrantedEventName = "RoleGranted"

// ContractEventName returns the user-defined event name.
func (MissionFactoryRoleGranted) ContractEventName() string {
	return MissionFactoryRoleGrantedEventName
}

// UnpackRoleGrantedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RoleGranted(bytes32 indexed role, address indexed account, address indexed sender)
func (missionFactory *MissionFactory) UnpackRoleGrantedEvent(log *types.Log) (*MissionFactoryRoleGranted, error) {
	event := "RoleGranted"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryRoleGranted)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryRoleRevoked represents a RoleRevoked event raised by the MissionFactory contract.
type MissionFactoryRoleRevoked struct {
	Role    [32]byte
	Account common.Address
	Sender  common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryRoleRevokedEventName = "RoleRevoked"

// ContractEventName returns the user-defined event name.
func (MissionFactoryRoleRevoked) ContractEventName() string {
	return MissionFactoryRoleRevokedEventName
}

// UnpackRoleRevokedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event RoleRevoked(bytes32 indexed role, address indexed account, address indexed sender)
func (missionFactory *MissionFactory) UnpackRoleRevokedEvent(log *types.Log) (*MissionFactoryRoleRevoked, error) {
	event := "RoleRevoked"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryRoleRevoked)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactorySubmissionPaid represents a SubmissionPaid event raised by the MissionFactory contract.
type MissionFactorySubmissionPaid struct {
	MissionKey    [32]byte
	SubmissionKey [32]byte
	Recipient     common.Address
	Slot          *big.Int
	Amount        *big.Int
	Raw           *types.Log // Blockchain specific contextual infos
}

const MissionFactorySubmissionPaidEventName = "SubmissionPaid"

// ContractEventName returns the user-defined event name.
func (MissionFactorySubmissionPaid) ContractEventName() string {
	return MissionFactorySubmissionPaidEventName
}

// UnpackSubmissionPaidEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event SubmissionPaid(bytes32 indexed missionKey, bytes32 indexed submissionKey, address indexed recipient, uint256 slot, uint256 amount)
func (missionFactory *MissionFactory) UnpackSubmissionPaidEvent(log *types.Log) (*MissionFactorySubmissionPaid, error) {
	event := "SubmissionPaid"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactorySubmissionPaid)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// MissionFactoryUnpaused represents a Unpaused event raised by the MissionFactory contract.
type MissionFactoryUnpaused struct {
	Account common.Address
	Raw     *types.Log // Blockchain specific contextual infos
}

const MissionFactoryUnpausedEventName = "Unpaused"

// ContractEventName returns the user-defined event name.
func (MissionFactoryUnpaused) ContractEventName() string {
	return MissionFactoryUnpausedEventName
}

// UnpackUnpausedEvent is the Go binding that unpacks the event data emitted
// by contract.
//
// Solidity: event Unpaused(address account)
func (missionFactory *MissionFactory) UnpackUnpausedEvent(log *types.Log) (*MissionFactoryUnpaused, error) {
	event := "Unpaused"
	if len(log.Topics) == 0 {
		return nil, bind.ErrNoEventSignature
	}
	if log.Topics[0] != missionFactory.abi.Events[event].ID {
		return nil, bind.ErrEventSignatureMismatch
	}
	out := new(MissionFactoryUnpaused)
	if len(log.Data) > 0 {
		if err := missionFactory.abi.UnpackIntoInterface(out, event, log.Data); err != nil {
			return nil, err
		}
	}
	var indexed abi.Arguments
	for _, arg := range missionFactory.abi.Events[event].Inputs {
		if arg.Indexed {
			indexed = append(indexed, arg)
		}
	}
	if err := abi.ParseTopics(out, indexed, log.Topics[1:]); err != nil {
		return nil, err
	}
	out.Raw = log
	return out, nil
}

// UnpackError attempts to decode the provided error data using user-defined
// error definitions.
func (missionFactory *MissionFactory) UnpackError(raw []byte) (any, error) {
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AccessControlBadConfirmation"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAccessControlBadConfirmationError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AccessControlEnforcedDefaultAdminDelay"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAccessControlEnforcedDefaultAdminDelayError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AccessControlEnforcedDefaultAdminRules"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAccessControlEnforcedDefaultAdminRulesError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AccessControlInvalidDefaultAdmin"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAccessControlInvalidDefaultAdminError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AccessControlUnauthorizedAccount"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAccessControlUnauthorizedAccountError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["AuthorizationExpired"].ID.Bytes()[:4]) {
		return missionFactory.UnpackAuthorizationExpiredError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["DailyCapExceeded"].ID.Bytes()[:4]) {
		return missionFactory.UnpackDailyCapExceededError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["DailyCapTooLarge"].ID.Bytes()[:4]) {
		return missionFactory.UnpackDailyCapTooLargeError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["DeadlineTooFar"].ID.Bytes()[:4]) {
		return missionFactory.UnpackDeadlineTooFarError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ECDSAInvalidSignature"].ID.Bytes()[:4]) {
		return missionFactory.UnpackECDSAInvalidSignatureError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ECDSAInvalidSignatureLength"].ID.Bytes()[:4]) {
		return missionFactory.UnpackECDSAInvalidSignatureLengthError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ECDSAInvalidSignatureS"].ID.Bytes()[:4]) {
		return missionFactory.UnpackECDSAInvalidSignatureSError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["EnforcedPause"].ID.Bytes()[:4]) {
		return missionFactory.UnpackEnforcedPauseError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ExpectedPause"].ID.Bytes()[:4]) {
		return missionFactory.UnpackExpectedPauseError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InexactFunding"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInexactFundingError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidMissionIdLength"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidMissionIdLengthError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidRecipient"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidRecipientError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidReward"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidRewardError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidShortString"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidShortStringError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidTargetCount"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidTargetCountError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["InvalidToken"].ID.Bytes()[:4]) {
		return missionFactory.UnpackInvalidTokenError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["MissingRoleHolder"].ID.Bytes()[:4]) {
		return missionFactory.UnpackMissingRoleHolderError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["MissionAlreadyClosed"].ID.Bytes()[:4]) {
		return missionFactory.UnpackMissionAlreadyClosedError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["MissionAlreadyFunded"].ID.Bytes()[:4]) {
		return missionFactory.UnpackMissionAlreadyFundedError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["NonceRevoked"].ID.Bytes()[:4]) {
		return missionFactory.UnpackNonceRevokedError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["NotCreator"].ID.Bytes()[:4]) {
		return missionFactory.UnpackNotCreatorError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["NotCreatorOrAuthorizer"].ID.Bytes()[:4]) {
		return missionFactory.UnpackNotCreatorOrAuthorizerError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["NothingDeferred"].ID.Bytes()[:4]) {
		return missionFactory.UnpackNothingDeferredError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["PaidCountMismatch"].ID.Bytes()[:4]) {
		return missionFactory.UnpackPaidCountMismatchError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ReclaimTooEarly"].ID.Bytes()[:4]) {
		return missionFactory.UnpackReclaimTooEarlyError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["ReentrancyGuardReentrantCall"].ID.Bytes()[:4]) {
		return missionFactory.UnpackReentrancyGuardReentrantCallError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["SafeCastOverflowedUintDowncast"].ID.Bytes()[:4]) {
		return missionFactory.UnpackSafeCastOverflowedUintDowncastError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["SafeERC20FailedOperation"].ID.Bytes()[:4]) {
		return missionFactory.UnpackSafeERC20FailedOperationError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["SlotOutOfRange"].ID.Bytes()[:4]) {
		return missionFactory.UnpackSlotOutOfRangeError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["StringTooLong"].ID.Bytes()[:4]) {
		return missionFactory.UnpackStringTooLongError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["TooLittleGas"].ID.Bytes()[:4]) {
		return missionFactory.UnpackTooLittleGasError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["UnauthorizedSigner"].ID.Bytes()[:4]) {
		return missionFactory.UnpackUnauthorizedSignerError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["UnknownMission"].ID.Bytes()[:4]) {
		return missionFactory.UnpackUnknownMissionError(raw[4:])
	}
	if bytes.Equal(raw[:4], missionFactory.abi.Errors["UnsupportedToken"].ID.Bytes()[:4]) {
		return missionFactory.UnpackUnsupportedTokenError(raw[4:])
	}
	return nil, errors.New("Unknown error")
}

// MissionFactoryAccessControlBadConfirmation represents a AccessControlBadConfirmation error raised by the MissionFactory contract.
type MissionFactoryAccessControlBadConfirmation struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AccessControlBadConfirmation()
func MissionFactoryAccessControlBadConfirmationErrorID() common.Hash {
	return common.HexToHash("0x6697b23232a647058342c0724fe7c415cab25915b54e5dbc03f233173d37b41c")
}

// UnpackAccessControlBadConfirmationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AccessControlBadConfirmation()
func (missionFactory *MissionFactory) UnpackAccessControlBadConfirmationError(raw []byte) (*MissionFactoryAccessControlBadConfirmation, error) {
	out := new(MissionFactoryAccessControlBadConfirmation)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AccessControlBadConfirmation", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryAccessControlEnforcedDefaultAdminDelay represents a AccessControlEnforcedDefaultAdminDelay error raised by the MissionFactory contract.
type MissionFactoryAccessControlEnforcedDefaultAdminDelay struct {
	Schedule *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AccessControlEnforcedDefaultAdminDelay(uint48 schedule)
func MissionFactoryAccessControlEnforcedDefaultAdminDelayErrorID() common.Hash {
	return common.HexToHash("0x19ca5ebb8fb33f00e502c9392eddab1501674629178bf69b853cf037aaf4bb5d")
}

// UnpackAccessControlEnforcedDefaultAdminDelayError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AccessControlEnforcedDefaultAdminDelay(uint48 schedule)
func (missionFactory *MissionFactory) UnpackAccessControlEnforcedDefaultAdminDelayError(raw []byte) (*MissionFactoryAccessControlEnforcedDefaultAdminDelay, error) {
	out := new(MissionFactoryAccessControlEnforcedDefaultAdminDelay)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AccessControlEnforcedDefaultAdminDelay", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryAccessControlEnforcedDefaultAdminRules represents a AccessControlEnforcedDefaultAdminRules error raised by the MissionFactory contract.
type MissionFactoryAccessControlEnforcedDefaultAdminRules struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AccessControlEnforcedDefaultAdminRules()
func MissionFactoryAccessControlEnforcedDefaultAdminRulesErrorID() common.Hash {
	return common.HexToHash("0x3fc3c27ae3db78c81b8f6e685172134623efa268ee8cd8d54be38ad2a74fc13b")
}

// UnpackAccessControlEnforcedDefaultAdminRulesError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AccessControlEnforcedDefaultAdminRules()
func (missionFactory *MissionFactory) UnpackAccessControlEnforcedDefaultAdminRulesError(raw []byte) (*MissionFactoryAccessControlEnforcedDefaultAdminRules, error) {
	out := new(MissionFactoryAccessControlEnforcedDefaultAdminRules)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AccessControlEnforcedDefaultAdminRules", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryAccessControlInvalidDefaultAdmin represents a AccessControlInvalidDefaultAdmin error raised by the MissionFactory contract.
type MissionFactoryAccessControlInvalidDefaultAdmin struct {
	DefaultAdmin common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AccessControlInvalidDefaultAdmin(address defaultAdmin)
func MissionFactoryAccessControlInvalidDefaultAdminErrorID() common.Hash {
	return common.HexToHash("0xc22c8022f2a840d6b6a9f113407715f5bbd4e88c1b0dd9434dc00700ba609ed4")
}

// UnpackAccessControlInvalidDefaultAdminError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AccessControlInvalidDefaultAdmin(address defaultAdmin)
func (missionFactory *MissionFactory) UnpackAccessControlInvalidDefaultAdminError(raw []byte) (*MissionFactoryAccessControlInvalidDefaultAdmin, error) {
	out := new(MissionFactoryAccessControlInvalidDefaultAdmin)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AccessControlInvalidDefaultAdmin", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryAccessControlUnauthorizedAccount represents a AccessControlUnauthorizedAccount error raised by the MissionFactory contract.
type MissionFactoryAccessControlUnauthorizedAccount struct {
	Account    common.Address
	NeededRole [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)
func MissionFactoryAccessControlUnauthorizedAccountErrorID() common.Hash {
	return common.HexToHash("0xe2517d3fbfae6f8515ef5ff1ccedc3933ab0cbbda0b492c06eb54ad10ef03b3e")
}

// UnpackAccessControlUnauthorizedAccountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)
func (missionFactory *MissionFactory) UnpackAccessControlUnauthorizedAccountError(raw []byte) (*MissionFactoryAccessControlUnauthorizedAccount, error) {
	out := new(MissionFactoryAccessControlUnauthorizedAccount)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AccessControlUnauthorizedAccount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryAuthorizationExpired represents a AuthorizationExpired error raised by the MissionFactory contract.
type MissionFactoryAuthorizationExpired struct {
	Deadline  *big.Int
	Timestamp *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error AuthorizationExpired(uint256 deadline, uint256 timestamp)
func MissionFactoryAuthorizationExpiredErrorID() common.Hash {
	return common.HexToHash("0xb3fcd33ed67bdd224ccc14f6533b25e252d81b4b443c2c5e165224150577780e")
}

// UnpackAuthorizationExpiredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error AuthorizationExpired(uint256 deadline, uint256 timestamp)
func (missionFactory *MissionFactory) UnpackAuthorizationExpiredError(raw []byte) (*MissionFactoryAuthorizationExpired, error) {
	out := new(MissionFactoryAuthorizationExpired)
	if err := missionFactory.abi.UnpackIntoInterface(out, "AuthorizationExpired", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryDailyCapExceeded represents a DailyCapExceeded error raised by the MissionFactory contract.
type MissionFactoryDailyCapExceeded struct {
	Token     common.Address
	Limit     *big.Int
	Attempted *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error DailyCapExceeded(address token, uint256 limit, uint256 attempted)
func MissionFactoryDailyCapExceededErrorID() common.Hash {
	return common.HexToHash("0xd0f63438815c739026447fca8749e06d37871aeeb327e59524c8dd1af8327691")
}

// UnpackDailyCapExceededError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error DailyCapExceeded(address token, uint256 limit, uint256 attempted)
func (missionFactory *MissionFactory) UnpackDailyCapExceededError(raw []byte) (*MissionFactoryDailyCapExceeded, error) {
	out := new(MissionFactoryDailyCapExceeded)
	if err := missionFactory.abi.UnpackIntoInterface(out, "DailyCapExceeded", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryDailyCapTooLarge represents a DailyCapTooLarge error raised by the MissionFactory contract.
type MissionFactoryDailyCapTooLarge struct {
	Limit   *big.Int
	Maximum *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error DailyCapTooLarge(uint256 limit, uint256 maximum)
func MissionFactoryDailyCapTooLargeErrorID() common.Hash {
	return common.HexToHash("0xa37b65b55e122e4f1402ca269d7c29dc6db565df03abf85d0fd6c6a5c54170e9")
}

// UnpackDailyCapTooLargeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error DailyCapTooLarge(uint256 limit, uint256 maximum)
func (missionFactory *MissionFactory) UnpackDailyCapTooLargeError(raw []byte) (*MissionFactoryDailyCapTooLarge, error) {
	out := new(MissionFactoryDailyCapTooLarge)
	if err := missionFactory.abi.UnpackIntoInterface(out, "DailyCapTooLarge", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryDeadlineTooFar represents a DeadlineTooFar error raised by the MissionFactory contract.
type MissionFactoryDeadlineTooFar struct {
	Deadline *big.Int
	Latest   *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error DeadlineTooFar(uint256 deadline, uint256 latest)
func MissionFactoryDeadlineTooFarErrorID() common.Hash {
	return common.HexToHash("0x657526de9b7cb048f0c6b5d030f691cc9cd857a90871a22f4ff14c047d29d221")
}

// UnpackDeadlineTooFarError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error DeadlineTooFar(uint256 deadline, uint256 latest)
func (missionFactory *MissionFactory) UnpackDeadlineTooFarError(raw []byte) (*MissionFactoryDeadlineTooFar, error) {
	out := new(MissionFactoryDeadlineTooFar)
	if err := missionFactory.abi.UnpackIntoInterface(out, "DeadlineTooFar", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryECDSAInvalidSignature represents a ECDSAInvalidSignature error raised by the MissionFactory contract.
type MissionFactoryECDSAInvalidSignature struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignature()
func MissionFactoryECDSAInvalidSignatureErrorID() common.Hash {
	return common.HexToHash("0xf645eedf0193584640b6b90cb9477e4c95b98636c148a891d4c0a146dc46e75a")
}

// UnpackECDSAInvalidSignatureError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignature()
func (missionFactory *MissionFactory) UnpackECDSAInvalidSignatureError(raw []byte) (*MissionFactoryECDSAInvalidSignature, error) {
	out := new(MissionFactoryECDSAInvalidSignature)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ECDSAInvalidSignature", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryECDSAInvalidSignatureLength represents a ECDSAInvalidSignatureLength error raised by the MissionFactory contract.
type MissionFactoryECDSAInvalidSignatureLength struct {
	Length *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignatureLength(uint256 length)
func MissionFactoryECDSAInvalidSignatureLengthErrorID() common.Hash {
	return common.HexToHash("0xfce698f7e8e5342cd615f641317bc45fe7e1e4a8b0a14dd1383ff8dc9c41917f")
}

// UnpackECDSAInvalidSignatureLengthError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignatureLength(uint256 length)
func (missionFactory *MissionFactory) UnpackECDSAInvalidSignatureLengthError(raw []byte) (*MissionFactoryECDSAInvalidSignatureLength, error) {
	out := new(MissionFactoryECDSAInvalidSignatureLength)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ECDSAInvalidSignatureLength", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryECDSAInvalidSignatureS represents a ECDSAInvalidSignatureS error raised by the MissionFactory contract.
type MissionFactoryECDSAInvalidSignatureS struct {
	S [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ECDSAInvalidSignatureS(bytes32 s)
func MissionFactoryECDSAInvalidSignatureSErrorID() common.Hash {
	return common.HexToHash("0xd78bce0cccb935155ed6428d1c13e50b7f3550fd2b66b9fe266006fea4a5e1eb")
}

// UnpackECDSAInvalidSignatureSError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ECDSAInvalidSignatureS(bytes32 s)
func (missionFactory *MissionFactory) UnpackECDSAInvalidSignatureSError(raw []byte) (*MissionFactoryECDSAInvalidSignatureS, error) {
	out := new(MissionFactoryECDSAInvalidSignatureS)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ECDSAInvalidSignatureS", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryEnforcedPause represents a EnforcedPause error raised by the MissionFactory contract.
type MissionFactoryEnforcedPause struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error EnforcedPause()
func MissionFactoryEnforcedPauseErrorID() common.Hash {
	return common.HexToHash("0xd93c0665d6c96d04a8f174024fc4ddd66c250604aff22bbec808de86dd3637e3")
}

// UnpackEnforcedPauseError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error EnforcedPause()
func (missionFactory *MissionFactory) UnpackEnforcedPauseError(raw []byte) (*MissionFactoryEnforcedPause, error) {
	out := new(MissionFactoryEnforcedPause)
	if err := missionFactory.abi.UnpackIntoInterface(out, "EnforcedPause", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryExpectedPause represents a ExpectedPause error raised by the MissionFactory contract.
type MissionFactoryExpectedPause struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ExpectedPause()
func MissionFactoryExpectedPauseErrorID() common.Hash {
	return common.HexToHash("0x8dfc202bcfe9a735b559bee70674422512bc5c30f687046ae8778315fb81da44")
}

// UnpackExpectedPauseError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ExpectedPause()
func (missionFactory *MissionFactory) UnpackExpectedPauseError(raw []byte) (*MissionFactoryExpectedPause, error) {
	out := new(MissionFactoryExpectedPause)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ExpectedPause", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInexactFunding represents a InexactFunding error raised by the MissionFactory contract.
type MissionFactoryInexactFunding struct {
	Token    common.Address
	Expected *big.Int
	Received *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InexactFunding(address token, uint256 expected, uint256 received)
func MissionFactoryInexactFundingErrorID() common.Hash {
	return common.HexToHash("0x85c437fab55ace92856f5ed41a47410d975a7bae419e4e9c131feabd0d5a2ed4")
}

// UnpackInexactFundingError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InexactFunding(address token, uint256 expected, uint256 received)
func (missionFactory *MissionFactory) UnpackInexactFundingError(raw []byte) (*MissionFactoryInexactFunding, error) {
	out := new(MissionFactoryInexactFunding)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InexactFunding", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidMissionIdLength represents a InvalidMissionIdLength error raised by the MissionFactory contract.
type MissionFactoryInvalidMissionIdLength struct {
	Length *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidMissionIdLength(uint256 length)
func MissionFactoryInvalidMissionIdLengthErrorID() common.Hash {
	return common.HexToHash("0x6a7f283f7dbc6a6dafe27f8f000d2e756c2df8e10428ab3154075c358819171d")
}

// UnpackInvalidMissionIdLengthError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidMissionIdLength(uint256 length)
func (missionFactory *MissionFactory) UnpackInvalidMissionIdLengthError(raw []byte) (*MissionFactoryInvalidMissionIdLength, error) {
	out := new(MissionFactoryInvalidMissionIdLength)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidMissionIdLength", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidRecipient represents a InvalidRecipient error raised by the MissionFactory contract.
type MissionFactoryInvalidRecipient struct {
	Slot      *big.Int
	Recipient common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidRecipient(uint256 slot, address recipient)
func MissionFactoryInvalidRecipientErrorID() common.Hash {
	return common.HexToHash("0x563f086f8c9b445526eaede2ed4759778993f0672833ad9d8eea756ebed74c0c")
}

// UnpackInvalidRecipientError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidRecipient(uint256 slot, address recipient)
func (missionFactory *MissionFactory) UnpackInvalidRecipientError(raw []byte) (*MissionFactoryInvalidRecipient, error) {
	out := new(MissionFactoryInvalidRecipient)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidRecipient", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidReward represents a InvalidReward error raised by the MissionFactory contract.
type MissionFactoryInvalidReward struct {
	RewardPerSubmission *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidReward(uint256 rewardPerSubmission)
func MissionFactoryInvalidRewardErrorID() common.Hash {
	return common.HexToHash("0xd3ea9c4890e6553ddde9ae12d08114d8f92feb7315e0ba4beeee437340d8f350")
}

// UnpackInvalidRewardError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidReward(uint256 rewardPerSubmission)
func (missionFactory *MissionFactory) UnpackInvalidRewardError(raw []byte) (*MissionFactoryInvalidReward, error) {
	out := new(MissionFactoryInvalidReward)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidReward", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidShortString represents a InvalidShortString error raised by the MissionFactory contract.
type MissionFactoryInvalidShortString struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidShortString()
func MissionFactoryInvalidShortStringErrorID() common.Hash {
	return common.HexToHash("0xb3512b0c6163e5f0bafab72bb631b9d58cd7a731b082f910338aa21c83d5c274")
}

// UnpackInvalidShortStringError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidShortString()
func (missionFactory *MissionFactory) UnpackInvalidShortStringError(raw []byte) (*MissionFactoryInvalidShortString, error) {
	out := new(MissionFactoryInvalidShortString)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidShortString", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidTargetCount represents a InvalidTargetCount error raised by the MissionFactory contract.
type MissionFactoryInvalidTargetCount struct {
	TargetCount *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidTargetCount(uint256 targetCount)
func MissionFactoryInvalidTargetCountErrorID() common.Hash {
	return common.HexToHash("0x62cae73070a166c5a0ae034da01807b1b36b1cae037a38987d9d42904ef88c81")
}

// UnpackInvalidTargetCountError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidTargetCount(uint256 targetCount)
func (missionFactory *MissionFactory) UnpackInvalidTargetCountError(raw []byte) (*MissionFactoryInvalidTargetCount, error) {
	out := new(MissionFactoryInvalidTargetCount)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidTargetCount", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryInvalidToken represents a InvalidToken error raised by the MissionFactory contract.
type MissionFactoryInvalidToken struct {
	Token common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error InvalidToken(address token)
func MissionFactoryInvalidTokenErrorID() common.Hash {
	return common.HexToHash("0x961c9a4f74d4e632663c98ff08df58a4a4cfef4336b18bb01466eddc3157fb75")
}

// UnpackInvalidTokenError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error InvalidToken(address token)
func (missionFactory *MissionFactory) UnpackInvalidTokenError(raw []byte) (*MissionFactoryInvalidToken, error) {
	out := new(MissionFactoryInvalidToken)
	if err := missionFactory.abi.UnpackIntoInterface(out, "InvalidToken", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryMissingRoleHolder represents a MissingRoleHolder error raised by the MissionFactory contract.
type MissionFactoryMissingRoleHolder struct {
	Role [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error MissingRoleHolder(bytes32 role)
func MissionFactoryMissingRoleHolderErrorID() common.Hash {
	return common.HexToHash("0xd412f1eedf12945653417aeee3d38a4a1e08605f580a3d61afd6ed25ba7d4347")
}

// UnpackMissingRoleHolderError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error MissingRoleHolder(bytes32 role)
func (missionFactory *MissionFactory) UnpackMissingRoleHolderError(raw []byte) (*MissionFactoryMissingRoleHolder, error) {
	out := new(MissionFactoryMissingRoleHolder)
	if err := missionFactory.abi.UnpackIntoInterface(out, "MissingRoleHolder", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryMissionAlreadyClosed represents a MissionAlreadyClosed error raised by the MissionFactory contract.
type MissionFactoryMissionAlreadyClosed struct {
	MissionKey [32]byte
	Reason     uint8
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error MissionAlreadyClosed(bytes32 missionKey, uint8 reason)
func MissionFactoryMissionAlreadyClosedErrorID() common.Hash {
	return common.HexToHash("0x1c60f1805312dcbb579d2d113faf671a5c6d1533be675336f0162ed2e77b092d")
}

// UnpackMissionAlreadyClosedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error MissionAlreadyClosed(bytes32 missionKey, uint8 reason)
func (missionFactory *MissionFactory) UnpackMissionAlreadyClosedError(raw []byte) (*MissionFactoryMissionAlreadyClosed, error) {
	out := new(MissionFactoryMissionAlreadyClosed)
	if err := missionFactory.abi.UnpackIntoInterface(out, "MissionAlreadyClosed", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryMissionAlreadyFunded represents a MissionAlreadyFunded error raised by the MissionFactory contract.
type MissionFactoryMissionAlreadyFunded struct {
	MissionKey [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error MissionAlreadyFunded(bytes32 missionKey)
func MissionFactoryMissionAlreadyFundedErrorID() common.Hash {
	return common.HexToHash("0xd657f3fcab0d2e179ad3f74fd73bbde71f6a8c073ec3889b62bc20f241682981")
}

// UnpackMissionAlreadyFundedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error MissionAlreadyFunded(bytes32 missionKey)
func (missionFactory *MissionFactory) UnpackMissionAlreadyFundedError(raw []byte) (*MissionFactoryMissionAlreadyFunded, error) {
	out := new(MissionFactoryMissionAlreadyFunded)
	if err := missionFactory.abi.UnpackIntoInterface(out, "MissionAlreadyFunded", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryNonceRevoked represents a NonceRevoked error raised by the MissionFactory contract.
type MissionFactoryNonceRevoked struct {
	Creator common.Address
	Nonce   [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NonceRevoked(address creator, bytes32 nonce)
func MissionFactoryNonceRevokedErrorID() common.Hash {
	return common.HexToHash("0x1e6a57f2efd56dae357bbdc5761adfc9de4192345697d460a6478394c3919b62")
}

// UnpackNonceRevokedError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NonceRevoked(address creator, bytes32 nonce)
func (missionFactory *MissionFactory) UnpackNonceRevokedError(raw []byte) (*MissionFactoryNonceRevoked, error) {
	out := new(MissionFactoryNonceRevoked)
	if err := missionFactory.abi.UnpackIntoInterface(out, "NonceRevoked", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryNotCreator represents a NotCreator error raised by the MissionFactory contract.
type MissionFactoryNotCreator struct {
	Sender  common.Address
	Creator common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NotCreator(address sender, address creator)
func MissionFactoryNotCreatorErrorID() common.Hash {
	return common.HexToHash("0xffb87b72c92a85ae6d7c44561e530309a10023e32accfbde9c3d70671ddd4700")
}

// UnpackNotCreatorError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NotCreator(address sender, address creator)
func (missionFactory *MissionFactory) UnpackNotCreatorError(raw []byte) (*MissionFactoryNotCreator, error) {
	out := new(MissionFactoryNotCreator)
	if err := missionFactory.abi.UnpackIntoInterface(out, "NotCreator", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryNotCreatorOrAuthorizer represents a NotCreatorOrAuthorizer error raised by the MissionFactory contract.
type MissionFactoryNotCreatorOrAuthorizer struct {
	Sender  common.Address
	Creator common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NotCreatorOrAuthorizer(address sender, address creator)
func MissionFactoryNotCreatorOrAuthorizerErrorID() common.Hash {
	return common.HexToHash("0x25be53c2d2f6f6b1a0440dcf1eb3f962454dcc57aebd5f2e096a1a43e3198c79")
}

// UnpackNotCreatorOrAuthorizerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NotCreatorOrAuthorizer(address sender, address creator)
func (missionFactory *MissionFactory) UnpackNotCreatorOrAuthorizerError(raw []byte) (*MissionFactoryNotCreatorOrAuthorizer, error) {
	out := new(MissionFactoryNotCreatorOrAuthorizer)
	if err := missionFactory.abi.UnpackIntoInterface(out, "NotCreatorOrAuthorizer", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryNothingDeferred represents a NothingDeferred error raised by the MissionFactory contract.
type MissionFactoryNothingDeferred struct {
	Token   common.Address
	Account common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error NothingDeferred(address token, address account)
func MissionFactoryNothingDeferredErrorID() common.Hash {
	return common.HexToHash("0x710910a15eb03f4c5782c524c3b8b9e281163ef9fe9b643081b56fcac7540188")
}

// UnpackNothingDeferredError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error NothingDeferred(address token, address account)
func (missionFactory *MissionFactory) UnpackNothingDeferredError(raw []byte) (*MissionFactoryNothingDeferred, error) {
	out := new(MissionFactoryNothingDeferred)
	if err := missionFactory.abi.UnpackIntoInterface(out, "NothingDeferred", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryPaidCountMismatch represents a PaidCountMismatch error raised by the MissionFactory contract.
type MissionFactoryPaidCountMismatch struct {
	MissionKey [32]byte
	Signed     *big.Int
	Actual     *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error PaidCountMismatch(bytes32 missionKey, uint256 signed, uint256 actual)
func MissionFactoryPaidCountMismatchErrorID() common.Hash {
	return common.HexToHash("0x809a3beb1099ca7b3c39ec85aaa6e08e3c5ee2df01460e330ad105ad3732a19a")
}

// UnpackPaidCountMismatchError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error PaidCountMismatch(bytes32 missionKey, uint256 signed, uint256 actual)
func (missionFactory *MissionFactory) UnpackPaidCountMismatchError(raw []byte) (*MissionFactoryPaidCountMismatch, error) {
	out := new(MissionFactoryPaidCountMismatch)
	if err := missionFactory.abi.UnpackIntoInterface(out, "PaidCountMismatch", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryReclaimTooEarly represents a ReclaimTooEarly error raised by the MissionFactory contract.
type MissionFactoryReclaimTooEarly struct {
	MissionKey   [32]byte
	ReclaimAfter *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ReclaimTooEarly(bytes32 missionKey, uint256 reclaimAfter)
func MissionFactoryReclaimTooEarlyErrorID() common.Hash {
	return common.HexToHash("0x166a3eb8dcd70c0f1a0fbe0bb3c9b14425e8ff2d069c0adc1e1a73ca4387b1fc")
}

// UnpackReclaimTooEarlyError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ReclaimTooEarly(bytes32 missionKey, uint256 reclaimAfter)
func (missionFactory *MissionFactory) UnpackReclaimTooEarlyError(raw []byte) (*MissionFactoryReclaimTooEarly, error) {
	out := new(MissionFactoryReclaimTooEarly)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ReclaimTooEarly", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryReentrancyGuardReentrantCall represents a ReentrancyGuardReentrantCall error raised by the MissionFactory contract.
type MissionFactoryReentrancyGuardReentrantCall struct {
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error ReentrancyGuardReentrantCall()
func MissionFactoryReentrancyGuardReentrantCallErrorID() common.Hash {
	return common.HexToHash("0x3ee5aeb571de7fc460830b4d0017439a1ca56fb0bc39062227ade4fe4a24c1ca")
}

// UnpackReentrancyGuardReentrantCallError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error ReentrancyGuardReentrantCall()
func (missionFactory *MissionFactory) UnpackReentrancyGuardReentrantCallError(raw []byte) (*MissionFactoryReentrancyGuardReentrantCall, error) {
	out := new(MissionFactoryReentrancyGuardReentrantCall)
	if err := missionFactory.abi.UnpackIntoInterface(out, "ReentrancyGuardReentrantCall", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactorySafeCastOverflowedUintDowncast represents a SafeCastOverflowedUintDowncast error raised by the MissionFactory contract.
type MissionFactorySafeCastOverflowedUintDowncast struct {
	Bits  uint8
	Value *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)
func MissionFactorySafeCastOverflowedUintDowncastErrorID() common.Hash {
	return common.HexToHash("0x6dfcc6503a32754ce7a89698e18201fc5294fd4aad43edefee786f88423b1a12")
}

// UnpackSafeCastOverflowedUintDowncastError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)
func (missionFactory *MissionFactory) UnpackSafeCastOverflowedUintDowncastError(raw []byte) (*MissionFactorySafeCastOverflowedUintDowncast, error) {
	out := new(MissionFactorySafeCastOverflowedUintDowncast)
	if err := missionFactory.abi.UnpackIntoInterface(out, "SafeCastOverflowedUintDowncast", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactorySafeERC20FailedOperation represents a SafeERC20FailedOperation error raised by the MissionFactory contract.
type MissionFactorySafeERC20FailedOperation struct {
	Token common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SafeERC20FailedOperation(address token)
func MissionFactorySafeERC20FailedOperationErrorID() common.Hash {
	return common.HexToHash("0x5274afe73c98b4749fc91ffae6b7b574e7842cb2144a159e9377a5f20b32edf9")
}

// UnpackSafeERC20FailedOperationError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SafeERC20FailedOperation(address token)
func (missionFactory *MissionFactory) UnpackSafeERC20FailedOperationError(raw []byte) (*MissionFactorySafeERC20FailedOperation, error) {
	out := new(MissionFactorySafeERC20FailedOperation)
	if err := missionFactory.abi.UnpackIntoInterface(out, "SafeERC20FailedOperation", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactorySlotOutOfRange represents a SlotOutOfRange error raised by the MissionFactory contract.
type MissionFactorySlotOutOfRange struct {
	Slot        *big.Int
	TargetCount *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error SlotOutOfRange(uint256 slot, uint256 targetCount)
func MissionFactorySlotOutOfRangeErrorID() common.Hash {
	return common.HexToHash("0x02c40bc45d4118fe2dae814d2fc454e9ab2d45f0c9998bf4808ffed58a288f0c")
}

// UnpackSlotOutOfRangeError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error SlotOutOfRange(uint256 slot, uint256 targetCount)
func (missionFactory *MissionFactory) UnpackSlotOutOfRangeError(raw []byte) (*MissionFactorySlotOutOfRange, error) {
	out := new(MissionFactorySlotOutOfRange)
	if err := missionFactory.abi.UnpackIntoInterface(out, "SlotOutOfRange", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryStringTooLong represents a StringTooLong error raised by the MissionFactory contract.
type MissionFactoryStringTooLong struct {
	Str string
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error StringTooLong(string str)
func MissionFactoryStringTooLongErrorID() common.Hash {
	return common.HexToHash("0x305a27a93f8e33b7392df0a0f91d6fc63847395853c45991eec52dbf24d72381")
}

// UnpackStringTooLongError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error StringTooLong(string str)
func (missionFactory *MissionFactory) UnpackStringTooLongError(raw []byte) (*MissionFactoryStringTooLong, error) {
	out := new(MissionFactoryStringTooLong)
	if err := missionFactory.abi.UnpackIntoInterface(out, "StringTooLong", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryTooLittleGas represents a TooLittleGas error raised by the MissionFactory contract.
type MissionFactoryTooLittleGas struct {
	Offered *big.Int
	Left    *big.Int
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error TooLittleGas(uint256 offered, uint256 left)
func MissionFactoryTooLittleGasErrorID() common.Hash {
	return common.HexToHash("0x9ee5fcf0ddbbb3e81c9bbee4f1dfc659b266ce349bb8cfb6d04a8857e3cc9f93")
}

// UnpackTooLittleGasError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error TooLittleGas(uint256 offered, uint256 left)
func (missionFactory *MissionFactory) UnpackTooLittleGasError(raw []byte) (*MissionFactoryTooLittleGas, error) {
	out := new(MissionFactoryTooLittleGas)
	if err := missionFactory.abi.UnpackIntoInterface(out, "TooLittleGas", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryUnauthorizedSigner represents a UnauthorizedSigner error raised by the MissionFactory contract.
type MissionFactoryUnauthorizedSigner struct {
	Signer common.Address
	Role   [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error UnauthorizedSigner(address signer, bytes32 role)
func MissionFactoryUnauthorizedSignerErrorID() common.Hash {
	return common.HexToHash("0xb39e6a62d964bf5fa26513dcaa8d4dc36713ec49a9b7ed3e5373dfc287b64e0e")
}

// UnpackUnauthorizedSignerError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error UnauthorizedSigner(address signer, bytes32 role)
func (missionFactory *MissionFactory) UnpackUnauthorizedSignerError(raw []byte) (*MissionFactoryUnauthorizedSigner, error) {
	out := new(MissionFactoryUnauthorizedSigner)
	if err := missionFactory.abi.UnpackIntoInterface(out, "UnauthorizedSigner", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryUnknownMission represents a UnknownMission error raised by the MissionFactory contract.
type MissionFactoryUnknownMission struct {
	MissionKey [32]byte
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error UnknownMission(bytes32 missionKey)
func MissionFactoryUnknownMissionErrorID() common.Hash {
	return common.HexToHash("0xfa2b237e6231584fe19216f21a3bc943e56a2cbf2af72aec88fb16e0b9b0516b")
}

// UnpackUnknownMissionError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error UnknownMission(bytes32 missionKey)
func (missionFactory *MissionFactory) UnpackUnknownMissionError(raw []byte) (*MissionFactoryUnknownMission, error) {
	out := new(MissionFactoryUnknownMission)
	if err := missionFactory.abi.UnpackIntoInterface(out, "UnknownMission", raw); err != nil {
		return nil, err
	}
	return out, nil
}

// MissionFactoryUnsupportedToken represents a UnsupportedToken error raised by the MissionFactory contract.
type MissionFactoryUnsupportedToken struct {
	Token common.Address
}

// ErrorID returns the hash of canonical representation of the error's signature.
//
// Solidity: error UnsupportedToken(address token)
func MissionFactoryUnsupportedTokenErrorID() common.Hash {
	return common.HexToHash("0xbf16aab68b533663bda39930f665a3aca274d1ce9b11695c6d6218cb23bba198")
}

// UnpackUnsupportedTokenError is the Go binding used to decode the provided
// error data into the corresponding Go error struct.
//
// Solidity: error UnsupportedToken(address token)
func (missionFactory *MissionFactory) UnpackUnsupportedTokenError(raw []byte) (*MissionFactoryUnsupportedToken, error) {
	out := new(MissionFactoryUnsupportedToken)
	if err := missionFactory.abi.UnpackIntoInterface(out, "UnsupportedToken", raw); err != nil {
		return nil, err
	}
	return out, nil
}
