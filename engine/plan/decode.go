package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"deployer/engine/jsonappend"
	"deployer/engine/sanitize"
)

// Decode decodes the file of a plan. Unknown keys, and parts that do not fit together, are
// errors. name is that of the file, for errors.
func Decode(name string, data []byte) (*Plan, error) {
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("%s is no plan: %w", name, err)
	}
	switch {
	case head.Format == 0:
		return nil, fmt.Errorf("%s is no plan: it has no format number", name)
	case head.Format != Format:
		return nil, fmt.Errorf("%s is a plan of format %d, this deployer reads format %d: apply it with the deployer that made it, or make a new plan", name, head.Format, Format)
	}
	p := &Plan{}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(p); err != nil {
		return nil, fmt.Errorf("%s is no plan: %w", name, err)
	}
	if err := p.Valid(); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", name, err)
	}
	return p, nil
}

// Limits of a plan that a host has returned.
const (
	// maxWeight is the memory that the plan takes, in bytes; see jsonappend.Weigh. A plan of
	// 1000 hosts with 300 changes takes some 20 MiB.
	maxWeight = 128 << 20
	// maxPairs bounds the comparisons of the effects of each host, and maxGroupText the bytes
	// by which hosts are grouped. The same plan takes 45 million, and 60 MiB.
	maxPairs     = 300_000_000
	maxGroupText = 512 << 20
)

// DecodeUntrusted is Decode for the copy of a plan from a host. Its memory and the time for it
// are bounded, its texts are sanitized, and which of its steps are exact follows from its
// changes, whatever the copy says: so apply does no more than the plan shows.
func DecodeUntrusted(name string, data []byte) (*Plan, error) {
	if weight := jsonappend.Weigh(data); weight > maxWeight {
		return nil, fmt.Errorf("%s takes %d MiB of memory, and the limit for a plan from a host is %d MiB", name, weight>>20, maxWeight>>20)
	}
	clean, err := sanitized(data)
	if err != nil {
		return nil, fmt.Errorf("%s is no plan: %w", name, err)
	}
	p, err := Decode(name, clean)
	if err != nil {
		return nil, err
	}
	if err := p.bounded(); err != nil {
		return nil, fmt.Errorf("%s is too large for a plan from a host: %w", name, err)
	}
	for i := range p.Hosts {
		p.Hosts[i].Inexact, p.Hosts[i].UnboundedFrom = nil, nil
		p.Hosts[i].markStaleness(p.Changes)
	}
	return p, nil
}

// sanitized returns the JSON of a plan with its texts sanitized. Texts of effects keep their
// line ends: those of a command are part of it, and fingerprints pin them.
func sanitized(data []byte) ([]byte, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	var v any
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value in a plan")
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	err := enc.Encode(sanitize.Lines(v, func(key string) bool {
		return key == "target" || key == "action" || key == "diff" || key == "extra"
	}))
	return out.Bytes(), err
}

// bounded returns an error for a plan whose changes take too long to compare or to group.
func (p *Plan) bounded() error {
	pairs, text := 0, 0
	for _, h := range p.Hosts {
		effects := 0
		for _, at := range h.Changes {
			c := p.Changes[at]
			effects += 1 + len(c.Effects)
			text += len(c.Step) + len(c.Name) + len(c.Unknown)
			for _, e := range c.Effects {
				text += len(e.Target) + len(e.Action)
			}
			if text > maxGroupText {
				return fmt.Errorf("its changes have more than %d MiB of text on all hosts", maxGroupText>>20)
			}
		}
		if pairs += effects * effects / 2; pairs > maxPairs {
			return fmt.Errorf("its hosts have more changes than can be compared: more than %d pairs", maxPairs)
		}
	}
	return nil
}
