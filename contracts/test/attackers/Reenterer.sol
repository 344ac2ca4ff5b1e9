// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IMissionFactory} from "../../src/interfaces/IMissionFactory.sol";
import {ITokenHook} from "./HookToken.sol";

/// @dev An account that, once armed, makes the configured calls during the next transfer of its tokens, and stores
/// the results. It never fails itself, so that the outer call continues.
contract Reenterer is ITokenHook {
    struct Call {
        address target;
        bytes data;
    }

    struct Outcome {
        bool success;
        bytes result;
    }

    Call[] private calls;
    Outcome[] private outcomes_;
    bool public armed;

    function arm(Call[] calldata calls_) external {
        delete calls;
        delete outcomes_;
        for (uint256 i = 0; i < calls_.length; ++i) {
            calls.push(calls_[i]);
        }
        armed = true;
    }

    function outcomes() external view returns (Outcome[] memory) {
        return outcomes_;
    }

    function onTokenMove() external {
        if (!armed) return;
        armed = false;
        for (uint256 i = 0; i < calls.length; ++i) {
            (bool success, bytes memory result) = calls[i].target.call(calls[i].data);
            outcomes_.push(Outcome(success, result));
        }
    }

    /// @dev For what it does outside of a transfer: approve, fund, reclaim.
    function execute(address target, bytes calldata data) external returns (bytes memory) {
        (bool success, bytes memory result) = target.call(data);
        if (!success) {
            assembly ("memory-safe") {
                revert(add(result, 0x20), mload(result))
            }
        }
        return result;
    }
}
