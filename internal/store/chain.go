package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// ChainPosition reads how far a chain was followed. Not followed yet: [ErrNotFound].
func (db *DB) ChainPosition(ctx context.Context, chainID uint64) (onchain.Position, error) {
	return read(ctx, db, func(r reader) (onchain.Position, error) { return r.ChainPosition(chainID) })
}

// ChainPosition is [DB.ChainPosition] inside the transaction.
func (r reader) ChainPosition(chainID uint64) (onchain.Position, error) {
	position := onchain.Position{ChainID: chainID}
	var hash string
	var blockTime int64
	err := r.one(selectPosition, []any{int64(chainID)}, func(row scanner) error {
		return row.Scan(&position.Start, &position.Tip.Number, &hash, &blockTime, &position.Head, &position.Final, &position.Version)
	})
	if err == nil {
		err = parse(&position.Tip.Hash, hash, sortie.ParseHash)
	}
	if err != nil {
		return onchain.Position{}, fmt.Errorf("read position on chain %d: %w", chainID, err)
	}
	position.Tip.Time = time.UnixMicro(blockTime).UTC()
	return position, nil
}

// StartChain stores the first position of a chain, and its tip as the first followed block. If
// there is already a position, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) StartChain(position onchain.Position) error {
	changed, err := tx.exec(insertPosition, int64(position.ChainID), int64(position.Start),
		int64(position.Tip.Number), position.Tip.Hash.String(), position.Tip.Time.UnixMicro(),
		int64(position.Head), int64(position.Final), tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("start to follow chain %d: %w", position.ChainID, err)
	}
	return tx.AddBlocks(position.ChainID, []onchain.Block{position.Tip})
}

// MoveChain moves the position that was read to another and returns the new one. If another
// transaction moved it first, it fails with [ErrConflict] and changes nothing.
func (tx *Tx) MoveChain(was onchain.Position, tip onchain.Block, head, final uint64) (onchain.Position, error) {
	changed, err := tx.exec(movePosition, int64(was.ChainID), was.Version,
		int64(tip.Number), tip.Hash.String(), tip.Time.UnixMicro(), int64(head), int64(final), tx.Now.UnixMicro())
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err != nil {
		return onchain.Position{}, fmt.Errorf("move position on chain %d: %w", was.ChainID, err)
	}
	moved := was
	moved.Tip, moved.Head, moved.Final, moved.Version = tip, head, final, was.Version+1
	moved.Tip.Time = tip.Time.UTC().Truncate(time.Microsecond)
	return moved, nil
}

// HoldChain locks the position of a chain until the transaction ends, so that what is read
// afterwards stays true of the chain. It does nothing for a chain that is not followed.
func (tx *Tx) HoldChain(chainID uint64) error {
	if _, err := tx.exec(holdPosition, int64(chainID)); err != nil {
		return fmt.Errorf("hold chain %d: %w", chainID, err)
	}
	return nil
}

// ChainBlocks reads up to limit of the followed blocks below a number, newest first.
func (db *DB) ChainBlocks(ctx context.Context, chainID, below uint64, limit int) ([]onchain.Block, error) {
	return read(ctx, db, func(r reader) ([]onchain.Block, error) {
		return r.chainBlocks(chainID, below, limit)
	})
}

func (r reader) chainBlocks(chainID, below uint64, limit int) ([]onchain.Block, error) {
	var blocks []onchain.Block
	err := r.each(selectBlocks, []any{int64(chainID), int64(min(below, math.MaxInt64)), limit}, func(row scanner) error {
		var block onchain.Block
		var hash string
		var blockTime int64
		if err := row.Scan(&block.Number, &hash, &blockTime); err != nil {
			return err
		}
		block.Time = time.UnixMicro(blockTime).UTC()
		err := parse(&block.Hash, hash, sortie.ParseHash)
		blocks = append(blocks, block)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read blocks of chain %d: %w", chainID, err)
	}
	return blocks, nil
}

// AddBlocks adds followed blocks. It fails the transaction with [ErrConflict] if a number already
// exists.
func (tx *Tx) AddBlocks(chainID uint64, blocks []onchain.Block) error {
	err := insertRows(tx, insertBlocks, int64(chainID), blocks, func(args []any, blocks []onchain.Block) []any {
		for i := range blocks {
			args = append(args, int64(blocks[i].Number), blocks[i].Hash.String(), blocks[i].Time.UnixMicro())
		}
		return args
	})
	if err != nil {
		return fmt.Errorf("add blocks of chain %d: %w", chainID, err)
	}
	return nil
}

// RemoveBlocksAbove deletes the followed blocks above a number and their events. It returns the
// events newest first, the order in which their effects must be reverted.
func (tx *Tx) RemoveBlocksAbove(chainID, number uint64) (removed []onchain.Event, err error) {
	args := []any{int64(chainID), int64(number)}
	removed, err = tx.chainEvents(selectEventsAbove, args)
	if err == nil && len(removed) > 0 {
		_, err = tx.exec(deleteEventsAbove, args...)
	}
	if err == nil {
		_, err = tx.exec(deleteBlocksAbove, args...)
	}
	if err != nil {
		return nil, fmt.Errorf("revert chain %d to block %d: %w", chainID, number, err)
	}
	return removed, nil
}

// PruneBlocks deletes the followed blocks below a number. Their events are kept.
func (tx *Tx) PruneBlocks(chainID, below uint64) error {
	if _, err := tx.exec(deleteBlocksBelow, int64(chainID), int64(below)); err != nil {
		return fmt.Errorf("delete blocks of chain %d: %w", chainID, err)
	}
	return nil
}

// AddFactory stores that quotes are made for a factory. It may be known already.
func (tx *Tx) AddFactory(chainID uint64, factory sortie.Address) error {
	if _, err := tx.exec(insertFactory, int64(chainID), hexAddress(factory)); err != nil {
		return fmt.Errorf("add factory %s: %w", factory, err)
	}
	return nil
}

// Factories reads every factory that quotes were ever made for on a chain.
func (db *DB) Factories(ctx context.Context, chainID uint64) ([]sortie.Address, error) {
	return read(ctx, db, func(r reader) (factories []sortie.Address, err error) {
		err = r.each(selectFactories, []any{int64(chainID)}, func(row scanner) error {
			var text string
			if err := row.Scan(&text); err != nil {
				return err
			}
			factory, err := sortie.ParseAddress(text)
			factories = append(factories, factory)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read factories of chain %d: %w", chainID, err)
		}
		return factories, nil
	})
}

const (
	insertPosition = `INSERT INTO chain_position (chain_id, start_block, tip_number, tip_hash, tip_time, head, final, version, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8) ON CONFLICT (chain_id) DO NOTHING`

	selectBlocks = `SELECT number, hash, time FROM chain_blocks
WHERE chain_id = $1 AND number < $2 ORDER BY number DESC LIMIT $3 + 0`
	deleteBlocksAbove = `DELETE FROM chain_blocks WHERE chain_id = $1 AND number > $2`
	deleteBlocksBelow = `DELETE FROM chain_blocks WHERE chain_id = $1 AND number < $2`

	insertFactory   = `INSERT INTO factories (chain_id, address) VALUES ($1, $2) ON CONFLICT DO NOTHING`
	selectFactories = `SELECT address FROM factories WHERE chain_id = $1 ORDER BY address`
)

var (
	selectPosition = preparedRead(`SELECT start_block, tip_number, tip_hash, tip_time, head, final, version FROM chain_position WHERE chain_id = $1`)
	movePosition   = preparedWrite(`UPDATE chain_position SET tip_number = $3, tip_hash = $4, tip_time = $5, head = $6, final = $7, updated_at = $8,
	version = version + 1
WHERE chain_id = $1 AND version = $2`)
	holdPosition = preparedWrite(`UPDATE chain_position SET version = version WHERE chain_id = $1`)
)

var insertBlocks = newBulk(`INSERT INTO chain_blocks (chain_id, number, hash, time) VALUES `, 3)
