package view

import (
	"encoding/json"
	"io"
	"sync"

	"deployer/engine"
)

// JSON writes one JSON object a line for each event, in the form of
// engine.Event, which docs/reference/events.md describes.
func JSON(w io.Writer) Renderer { return &jsonLines{enc: json.NewEncoder(w)} }

type jsonLines struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error
}

// Emit writes the event. After the first write error, such as a closed pipe, it
// drops events: a reader that went away must not stop a deployment.
func (j *jsonLines) Emit(e engine.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.enc.Encode(e)
	}
}

func (j *jsonLines) Close() {}
