package history

import (
	"context"
	"fmt"
	"time"
)

// What the records of hosts may take of this machine in one Fetch. Packed records are small, and
// a hostile host chooses what they unpack to. Each host has limits of its own below those for
// all hosts, so that it does not crowd out the others.
const (
	// maxFetched and maxFetchedOfHost bound the bytes of the fetched logs, which are files.
	maxFetched       = 2 << 30
	maxFetchedOfHost = 1 << 30
	// maxMemory and maxMemoryOfHost bound the bytes of what stays decoded of all runs: headers,
	// reports, and names of hosts and steps. 30 runs on 1000 hosts take some 30 MiB.
	maxMemory       = 384 << 20
	maxMemoryOfHost = 96 << 20
	// maxRunsOfHost is the number of records of a host that are read, the newest; an agent keeps
	// at most 30.
	maxRunsOfHost = 64
	// maxCopies is the number of copies of a run that are compared, the largest ones: a cluster
	// has at most seven masters.
	maxCopies = 9
	// readLimit and decodeLimit bound the time for one record, and hostLimit that for all
	// records of a host.
	readLimit   = 2 * time.Minute
	decodeLimit = time.Minute
	hostLimit   = 5 * time.Minute
)

// budget is the rest of what records may take. The zero value allows nothing.
type budget struct {
	text, memory int64 // bytes
}

// take subtracts bytes of text and of memory; it fails when one of them is used up.
func (b *budget) take(text, memory int64) error {
	b.text -= text
	b.memory -= memory
	switch {
	case b.text < 0:
		return fmt.Errorf("the records of hosts have more text than is read: %d MiB of one host, %d MiB of all", maxFetchedOfHost>>20, maxFetched>>20)
	case b.memory < 0:
		return fmt.Errorf("the records of hosts take more memory than they may: %d MiB of one host, %d MiB of all", maxMemoryOfHost>>20, maxMemory>>20)
	}
	return nil
}

// timed calls work with the time that is left to the keeper, at most limit, and subtracts what
// it takes.
func (k *keeper) timed(ctx context.Context, limit time.Duration, doing string, work func(context.Context) error) error {
	if k.time <= 0 {
		return fmt.Errorf("its records took more than %v in all", hostLimit)
	}
	limit = min(limit, k.time)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s took more than %v", doing, limit.Round(time.Second)))
	defer cancel()
	began := time.Now()
	err := work(ctx)
	k.time -= time.Since(began)
	return err
}
