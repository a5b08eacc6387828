// Package actionlog keeps what the keeper of a host did in a file of the host, so that it outlives the keeper,
// its API server and the host's next boot. The keeper appends to it; runs of deployer read it.
//
// The file has one JSON object a line, the oldest first. Nothing in it is used for a decision: it is for people.
package actionlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"time"
	"unicode/utf8"
)

// File is the name of the file in the host's state directory. FormerFile is the one before it: a file that is
// full becomes the former one, and the former one before that is removed.
const (
	File       = "keeper-actions.jsonl"
	FormerFile = File + ".1"
)

// MaxSize is the maximum size of a file in bytes. It holds some 4000 actions.
const MaxSize = 1 << 20

// maxField is the maximum size of one text of an entry in bytes: outputs of hooks can be long.
const maxField = 1000

// maxLine is the maximum size of a line in bytes; longer ones were not written by a keeper.
const maxLine = 64 << 10

// Entry is an action of a keeper with its outcome.
type Entry struct {
	Time   time.Time `json:"time"`
	Action string    `json:"action"` // kind of the action
	Object string    `json:"object"` // as kubectl names it, such as "Pod default/web-1"
	Why    string    `json:"why"`
	Result string    `json:"result"` // one of the Results, or the error
}

// The results of actions; any other is an error.
const (
	ResultDone       = "done"
	ResultDryRun     = "would be done"
	ResultInProgress = "in progress"
)

// Failed reports whether the action has failed.
func (e Entry) Failed() bool {
	return e.Result != ResultDone && e.Result != ResultDryRun && e.Result != ResultInProgress
}

// Short returns the entry with long texts cut.
func (e Entry) Short() Entry {
	for _, text := range []*string{&e.Action, &e.Object, &e.Why, &e.Result} {
		*text = Cut(*text, maxField)
	}
	return e
}

// line returns the entry as a line.
func (e Entry) line() ([]byte, error) {
	out, err := json.Marshal(e.Short())
	return append(out, '\n'), err
}

// Cut returns a text with at most limit bytes. A longer one ends with dots.
func Cut(text string, limit int) string {
	const dots = "..."
	if len(text) <= limit {
		return text
	}
	end := limit - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}

// Last returns the newest entries of the contents of files, the newest last and at most number. files are in
// the order of their times. Lines that are no entry are left out: a loss of power can damage the last one.
func Last(number int, files ...io.Reader) ([]Entry, error) {
	var out []Entry
	for _, f := range files {
		lines := bufio.NewReaderSize(io.LimitReader(f, MaxSize), maxLine)
		for {
			line, long, err := lines.ReadLine()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			for rest := long; rest && err == nil; {
				_, rest, err = lines.ReadLine()
			}
			var e Entry
			if long || json.Unmarshal(line, &e) != nil || e.Time.IsZero() {
				continue
			}
			if out = append(out, e); len(out) > 2*number {
				out = append(out[:0], out[len(out)-number:]...)
			}
		}
	}
	return out[max(0, len(out)-number):], nil
}
