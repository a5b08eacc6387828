package profile

import (
	"errors"

	"gopkg.in/yaml.v3"

	"deployer/strictyaml"
)

// file is the file of profiles as written.
type file struct {
	Intervals intervals     `yaml:"intervals" required:"true" doc:"Times."`
	Instances instances     `yaml:"instances" doc:"Checks, triggers and notifications that profiles use by name."`
	Profiles  []profileFile `yaml:"profiles" doc:"Profiles."`
	Dashboard *yaml.Node    `yaml:"dashboard" doc:"Settings of maintenance-controller's web page; without effect."`
}

type intervals struct {
	Requeue Duration   `yaml:"requeue" required:"true" doc:"Time between two looks at a node, such as 60s."`
	Notify  *yaml.Node `yaml:"notify" doc:"Setting of old versions of maintenance-controller; without effect, because each notification has a schedule."`
}

type instances struct {
	Check   []instance `yaml:"check"`
	Notify  []instance `yaml:"notify"`
	Trigger []instance `yaml:"trigger"`
}

// instance is an instance of a check, a notification or a trigger.
type instance struct {
	Name     text          `yaml:"name" required:"true" doc:"Name of the instance."`
	Type     text          `yaml:"type" required:"true" doc:"Type of the instance."`
	Config   yaml.Node     `yaml:"config" doc:"Settings of the type."`
	Schedule *scheduleFile `yaml:"schedule" doc:"Schedule of a notification."`
}

type scheduleFile struct {
	Type   text      `yaml:"type" required:"true" doc:"oneshot, periodic or scheduled."`
	Config yaml.Node `yaml:"config" doc:"Settings of the type."`
}

type profileFile struct {
	Name          text      `yaml:"name" required:"true" doc:"Name of the profile."`
	Operational   stateFile `yaml:"operational"`
	Required      stateFile `yaml:"maintenance-required"`
	InMaintenance stateFile `yaml:"in-maintenance"`
}

// of returns what the file says about a state.
func (p *profileFile) of(s State) *stateFile {
	return map[State]*stateFile{Operational: &p.Operational, Required: &p.Required, InMaintenance: &p.InMaintenance}[s]
}

type stateFile struct {
	Enter       text             `yaml:"enter" doc:"Triggers that run when a node has entered the state, joined with &&."`
	Notify      text             `yaml:"notify" doc:"Notifications that are sent in the state, joined with &&."`
	Transitions []transitionFile `yaml:"transitions" doc:"Ways out of the state; the first whose check passes is taken."`
}

type transitionFile struct {
	Check   text `yaml:"check" required:"true" doc:"Expression over checks."`
	Trigger text `yaml:"trigger" doc:"Triggers that run before the state changes, joined with &&."`
	Next    text `yaml:"next" required:"true" doc:"Next state."`
}

// text is a text of the file with its place.
type text struct {
	value string
	node  *yaml.Node
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (t *text) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return errors.New("want text")
	}
	*t = text{n.Value, n}
	return nil
}

// at returns the place of a byte of the text. Only texts of one line have columns.
func (t text) at(source string, offset int) strictyaml.Pos {
	pos := strictyaml.At(source, t.node)
	switch {
	case t.node == nil || t.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
	case t.node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		pos.Col += 1 + offset
	default:
		pos.Col += offset
	}
	return pos
}
