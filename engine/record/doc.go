// Package record keeps copies of a run's journal on hosts, so that another machine can
// show the run, continue it and revert it.
//
// A [Recorder] gets the events of a run. The Recorder encodes them in chunks, about one a second,
// and appends the chunks to the record of the run on each keeper: a host that the
// scheduler hands to it with its session (see schedule.Options.Recorder). The header is on
// a keeper's disk before the run changes any host. A keeper that is slow or lost falls
// behind and is brought up to date when it can be: no host and no step waits for it. A single
// goroutine makes chunks, and one for each session with a keeper sends them; Close ends
// them all.
//
// A record is one file. Its first line is {"format":1}. Chunks follow, each with its
// length in bytes before and behind it (four bytes, big endian), so that the last one can
// be read without the others. A chunk is a zstd frame with a checksum; unpacked it has
// lines, which are those of a journal without diffs, and, if the run applies a plan, a
// line {"plan":TEXT} with the file of the plan behind the header.
//
// Hosts are not trusted: [Decode] bounds what it unpacks, decodes lines strictly and
// sanitizes every text.
package record

// Format is the number of the format of records.
//
// A format that changes gets the next number, a reader for the one before, and a record
// of it in testdata.
const Format = 1

// MaxSize is the maximum size of a record in bytes, that of agents. A longer run continues,
// and only its outcome is added to the record.
const MaxSize = 32 << 20

// reserved is the part of MaxSize that only the outcome of a run uses, in bytes.
const reserved = 1 << 20
