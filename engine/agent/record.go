package agent

import (
	"encoding/json"
	"fmt"

	"deployer/engine/protocol"
	"deployer/engine/sanitize"
)

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
			answer.Error = sanitize.CutStart(err.Error(), maxText)
		}
		_ = s.conn.SendRecord(protocol.RecordReply, f.ID, answer)
	})
	return nil
}

func (s *server) answerRecord(ask protocol.RecordMessage) (answer protocol.RecordMessage, err error) {
	switch ask.Verb {
	case protocol.RecordAppend:
		answer.Size, err = s.state.AppendRecord(ask.Run, ask.Offset, ask.Data)
	case protocol.RecordRead:
		answer.Data, answer.Size, err = s.state.ReadRecord(ask.Run, ask.Offset)
		answer.Offset = ask.Offset
	case protocol.RecordList:
		answer.Records, err = s.state.ListRecords()
		if holder, held := s.runLock.Current(); held && err == nil {
			answer.Holder, err = json.Marshal(holder)
		}
	default:
		err = fmt.Errorf("the agent does not know %q of records", ask.Verb)
	}
	return answer, err
}
