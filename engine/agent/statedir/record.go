package statedir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"deployer/engine/protocol"
)

// RecordFile is the copy of the controller's log of a run. Its bytes are the
// controller's: the agent stores them and does not decode them.
const RecordFile = "record"

// MaxRecordSize is the maximum size of a record in bytes, which hosts with full disks
// and readers rely on. A run of 1000 hosts with 300 steps each takes some 3 MiB.
const MaxRecordSize = 32 << 20

// maxListedRecords bounds a list: a host keeps fewer runs, see package undo.
const maxListedRecords = 256

// AppendRecord appends data to the record of a run and returns its size; the data is on
// the disk then. When the record does not end at offset, it writes nothing. When the
// data does not fit onto the disk, nothing of it stays.
func (s *Dir) AppendRecord(run string, offset int64, data []byte) (size int64, err error) {
	s.mu.Lock()
	dir, err := s.makeRunDir(run)
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	s.records.Lock()
	defer s.records.Unlock()
	f, err := os.OpenFile(filepath.Join(dir, RecordFile), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return 0, fmt.Errorf("opening the record of the run on the host: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size = info.Size()
	switch {
	case offset != size || len(data) == 0:
		return size, RestrictToOwner(f)
	case size+int64(len(data)) > MaxRecordSize:
		return size, fmt.Errorf("the record of the run on the host is full: it may have %d MiB", MaxRecordSize>>20)
	}
	_, err = f.WriteAt(data, size)
	if err = errors.Join(RestrictToOwner(f), err); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return size, errors.Join(fmt.Errorf("writing the record of the run on the host: %w", err), f.Truncate(size))
	}
	return size + int64(len(data)), nil
}

// ReadRecord returns a part of a run's record from offset on, and the size of the whole.
func (s *Dir) ReadRecord(run string, offset int64) (data []byte, size int64, err error) {
	dir, err := s.RunDir(run)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(filepath.Join(dir, RecordFile))
	if err != nil {
		return nil, 0, fmt.Errorf("reading the record of the run on the host: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data = make([]byte, max(0, min(protocol.RecordPart, info.Size()-offset)))
	if _, err := io.ReadFull(io.NewSectionReader(f, offset, int64(len(data))), data); err != nil {
		return nil, 0, fmt.Errorf("reading the record of the run on the host: %w", err)
	}
	return data, info.Size(), nil
}

// ListRecords returns the records on the host.
func (s *Dir) ListRecords() ([]protocol.RecordEntry, error) {
	dirs, err := os.ReadDir(filepath.Join(s.Path, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the records of runs on the host: %w", err)
	}
	var out []protocol.RecordEntry
	for i := len(dirs) - 1; i >= 0 && len(out) < maxListedRecords; i-- { // the newest first
		info, err := os.Lstat(filepath.Join(s.Path, "runs", dirs[i].Name(), RecordFile))
		if err == nil && info.Mode().IsRegular() {
			out = append(out, protocol.RecordEntry{Run: dirs[i].Name(), Size: info.Size(), Modified: info.ModTime()})
		}
	}
	return out, nil
}
