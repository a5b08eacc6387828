package profile

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"deployer/strictyaml"
)

// Keys of nodes, as maintenance-controller has them.
const (
	// ProfileLabel has the names of a node's profiles, separated by --.
	ProfileLabel = "cloud.sap/maintenance-profile"
	// StateLabel has the most serious state of a node's profiles. It is for people and node affinities.
	StateLabel = "cloud.sap/maintenance-state"
	// DataAnnotation has the states of a node's profiles as JSON, see [Data].
	DataAnnotation = "cloud.sap/maintenance-data"
	// DefaultProfile is the profile of nodes without the label. It does nothing unless the file defines it.
	DefaultProfile = "default"

	separator = "--"
)

// State is the state of a node in one profile.
type State string

// The states, in the order of their seriousness.
const (
	Operational   State = "operational"
	Required      State = "maintenance-required"
	InMaintenance State = "in-maintenance"
)

// States returns all states, the least serious first.
func States() []State { return []State{Operational, Required, InMaintenance} }

// Valid reports whether s is one of the states.
func (s State) Valid() bool { return slices.Contains(States(), s) }

// check returns an error for a word that is no state.
func (s State) check() error {
	if s.Valid() {
		return nil
	}
	return fmt.Errorf("there is no state %q%s", s, strictyaml.DidYouMean(string(s), stateNames()))
}

func stateNames() []string {
	var out []string
	for _, s := range States() {
		out = append(out, string(s))
	}
	return out
}

// Progress is the place of a node in one profile.
type Progress struct {
	// Transition is the time of the last change of Current, or of the first pass that saw the profile on the node.
	Transition time.Time
	Current    State
	// Previous is the state at the end of the pass before; it differs from Current exactly in the pass that enters
	// Current.
	Previous State
}

// Data is the content of [DataAnnotation]. Its JSON is maintenance-controller's (state.Data).
type Data struct {
	Profiles map[string]*Progress
	// Notifications has the time at which each notification instance was last sent for the node.
	Notifications map[string]time.Time
}

// ParseData reads the annotation of a node. An empty text is a node without a history. Unknown fields and states are
// errors, because whoever wrote them had a meaning for them.
func ParseData(text string) (Data, error) {
	var d Data
	if text != "" {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&d); err != nil {
			return Data{}, fmt.Errorf("reading annotation %s: %w", DataAnnotation, err)
		}
		if _, err := decoder.Token(); err != io.EOF { //nolint:errorlint // Token returns io.EOF itself
			return Data{}, fmt.Errorf("reading annotation %s: there is text after the JSON object", DataAnnotation)
		}
	}
	if d.Profiles == nil {
		d.Profiles = map[string]*Progress{}
	}
	if d.Notifications == nil {
		d.Notifications = map[string]time.Time{}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Profiles)) {
		p := d.Profiles[name]
		if p == nil {
			return Data{}, fmt.Errorf("reading annotation %s: profile %s has no state", DataAnnotation, name)
		}
		for _, s := range []State{p.Current, p.Previous} {
			if err := s.check(); err != nil {
				return Data{}, fmt.Errorf("reading annotation %s: profile %s: %w", DataAnnotation, name, err)
			}
		}
	}
	return d, nil
}

// String returns the JSON of the annotation.
func (d Data) String() string {
	text, err := json.Marshal(d)
	if err != nil {
		return "" // a year after 9999, which no clock has
	}
	return string(text)
}

// Clone returns a deep copy.
func (d Data) Clone() Data {
	out := Data{Profiles: map[string]*Progress{}, Notifications: maps.Clone(d.Notifications)}
	for name, p := range d.Profiles {
		copied := *p
		out.Profiles[name] = &copied
	}
	if out.Notifications == nil {
		out.Notifications = map[string]time.Time{}
	}
	return out
}

// Serious returns the most serious state of these profiles; Operational for none.
func (d Data) Serious(names []string) State {
	worst := 0
	for _, name := range names {
		if p := d.Profiles[name]; p != nil {
			worst = max(worst, slices.Index(States(), p.Current))
		}
	}
	return States()[worst]
}

// last returns the profile whose state changed last; empty without one.
func (d Data) last() string {
	last := ""
	for _, name := range slices.Sorted(maps.Keys(d.Profiles)) {
		if last == "" || d.Profiles[name].Transition.After(d.Profiles[last].Transition) {
			last = name
		}
	}
	return last
}

// NamesOf returns the profiles of a node by its labels, each once, in the order of the label.
func NamesOf(labels map[string]string) []string {
	var out []string
	for name := range strings.SplitSeq(labels[ProfileLabel], separator) {
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		return []string{DefaultProfile}
	}
	return out
}

// follow drops the states of profiles that the node no longer has, and adds those that it has newly, as operational.
func (d Data) follow(names []string, known func(string) bool, now time.Time) {
	maps.DeleteFunc(d.Profiles, func(name string, _ *Progress) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		if d.Profiles[name] == nil && known(name) {
			d.Profiles[name] = &Progress{Transition: now, Current: Operational, Previous: Operational}
		}
	}
}
