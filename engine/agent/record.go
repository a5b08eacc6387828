package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"deployer/engine/protocol"
)

// recordFile is the copy of the controller's log of a run. Its bytes are the
// controller's: the agent stores them and does not decode them.
const recordFile = "record"

// maxRecordSize is the maximum size of a record in bytes, which hosts with full disks
// and readers rely on. A run of 1000 hosts with 300 steps each takes some 3 MiB.
const maxRecordSize = 32 << 20

// maxListedRecords bounds a list: a host keeps fewer runs, see runsToRemove.
const maxListedRecords = 256

// handleRecord answers a Record message in a goroutine of its own, because the disk may
// be slow.
func (s *server) handleRecord(f protocol.Frame) error {
	ask, err := f.RecordMessage()
	if err != nil {
		return err
	}
	s.steps.Go(func() {
		answer, err := s.answerRecord(ask)
		if err != nil {
			answer.Error = cut(err.Error(), maxText)
		}
		_ = s.conn.SendRecord(protocol.RecordReply, f.ID, answer)
	})
	return nil
}

func (s *server) answerRecord(ask protocol.RecordMessage) (answer protocol.RecordMessage, err error) {
	switch ask.Verb {
	case protocol.RecordAppend:
		answer.Size, err = s.state.appendRecord(ask.Run, ask.Offset, ask.Data)
	case protocol.RecordRead:
		answer.Data, answer.Size, err = s.state.readRecord(ask.Run, ask.Offset)
		answer.Offset = ask.Offset
	case protocol.RecordList:
		answer.Records, err = s.state.listRecords()
		if holder, held := s.runLock.current(); held && err == nil {
			answer.Holder, err = json.Marshal(holder)
		}
	default:
		err = fmt.Errorf("the agent does not know %q of records", ask.Verb)
	}
	return answer, err
}

// appendRecord appends data to the record of a run and returns its size; the data is on
// the disk then. When the record does not end at offset, it writes nothing. When the
// data does not fit onto the disk, nothing of it stays.
func (s *state) appendRecord(run string, offset int64, data []byte) (size int64, err error) {
	s.mu.Lock()
	dir, err := s.makeRunDir(run)
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	s.records.Lock()
	defer s.records.Unlock()
	f, err := os.OpenFile(filepath.Join(dir, recordFile), os.O_WRONLY|os.O_CREATE, 0o600)
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
		return size, restrictToOwner(f)
	case size+int64(len(data)) > maxRecordSize:
		return size, fmt.Errorf("the record of the run on the host is full: it may have %d MiB", maxRecordSize>>20)
	}
	_, err = f.WriteAt(data, size)
	if err = errors.Join(restrictToOwner(f), err); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return size, errors.Join(fmt.Errorf("writing the record of the run on the host: %w", err), f.Truncate(size))
	}
	return size + int64(len(data)), nil
}

// readRecord returns a part of a run's record from offset on, and the size of the whole.
func (s *state) readRecord(run string, offset int64) (data []byte, size int64, err error) {
	dir, err := s.runDir(run)
	if err != nil {
		return nil, 0, err
	}
	f, err := os.Open(filepath.Join(dir, recordFile))
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

// listRecords returns the records on the host.
func (s *state) listRecords() ([]protocol.RecordEntry, error) {
	dirs, err := os.ReadDir(filepath.Join(s.dir, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the records of runs on the host: %w", err)
	}
	var out []protocol.RecordEntry
	for i := len(dirs) - 1; i >= 0 && len(out) < maxListedRecords; i-- { // the newest first
		info, err := os.Lstat(filepath.Join(s.dir, "runs", dirs[i].Name(), recordFile))
		if err == nil && info.Mode().IsRegular() {
			out = append(out, protocol.RecordEntry{Run: dirs[i].Name(), Size: info.Size(), Modified: info.ModTime()})
		}
	}
	return out, nil
}
