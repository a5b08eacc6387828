package gate

import (
	"fmt"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"deployer/limit"
)

// Level is the effect of a broken rule.
type Level string

// The levels of rules.
const (
	Block  Level = "block"  // the push is refused
	Advise Level = "advise" // the report says so
	Off    Level = "off"    // nothing
)

// Rules are the gates of an environment. Levels that are empty have their defaults: Block,
// or Off for rules without a limit.
type Rules struct {
	Quorum       Simple       `yaml:"quorum" doc:"A majority of the members of etcd stays as it is."`
	DataLoss     DataLoss     `yaml:"data_loss" doc:"No host leaves that holds data."`
	ControlPlane ControlPlane `yaml:"control_plane" doc:"Masters and members of etcd are changed within windows only."`
	BlastRadius  BlastRadius  `yaml:"blast_radius" doc:"How many hosts one push may touch."`
	ApprovedPlan ApprovedPlan `yaml:"approved_plan" doc:"A push is deployed when its plan has been approved."`
}

// Simple is a rule without settings.
type Simple struct {
	Level Level `yaml:"level" enum:"block,advise,off" default:"block" doc:"What the rule does when it is broken."`
}

// DataLoss is the rule of hosts with data.
type DataLoss struct {
	Level Level    `yaml:"level" enum:"block,advise,off" default:"block" doc:"What the rule does when it is broken."`
	Hosts []string `yaml:"hosts" doc:"Patterns of hosts that hold data of their own, such as storage nodes."`
}

// ControlPlane is the rule of maintenance windows.
type ControlPlane struct {
	Level   Level    `yaml:"level" enum:"block,advise,off" doc:"What the rule does when it is broken; default: block with windows, off without."`
	Windows []Window `yaml:"windows" doc:"When masters and members of etcd may be changed."`
}

// BlastRadius is the rule of the number of hosts.
type BlastRadius struct {
	Level Level        `yaml:"level" enum:"block,advise,off" doc:"What the rule does when it is broken; default: block with a limit, off without."`
	Limit *limit.Limit `yaml:"limit" doc:"Maximum number of hosts that a push touches, or a share of the cluster's hosts. A key of the section cluster and a version touch all."`
}

// ApprovedPlan is the rule of reviewed plans.
type ApprovedPlan struct {
	Level Level `yaml:"level" enum:"block,advise,off" default:"off" doc:"What the rule does when it is broken."`
}

// Window is a time of the week.
type Window struct {
	Days []string `yaml:"days" doc:"Days on which the window begins: mon, tue, wed, thu, fri, sat, sun; default: all."`
	From Clock    `yaml:"from" required:"true" doc:"When the window begins, such as 22:00."`
	To   Clock    `yaml:"to" required:"true" doc:"When the window ends; on the next day when it is not after from."`
	Zone Zone     `yaml:"zone" doc:"Time zone, such as Europe/Berlin; default: UTC."`
}

// Clock is a time of day.
type Clock struct{ Minutes int }

// UnmarshalYAML reads a time such as 22:00.
func (c *Clock) UnmarshalYAML(n *yaml.Node) error {
	t, err := time.Parse("15:04", n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return fmt.Errorf("want a time such as 22:00, got %q", n.Value)
	}
	c.Minutes = t.Hour()*60 + t.Minute()
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (Clock) YAMLSchema() map[string]any {
	return map[string]any{"type": "string", "pattern": "^[0-2][0-9]:[0-5][0-9]$"}
}

// String returns the form that UnmarshalYAML reads.
func (c Clock) String() string { return fmt.Sprintf("%02d:%02d", c.Minutes/60, c.Minutes%60) }

// Zone is a time zone.
type Zone struct{ *time.Location }

// UnmarshalYAML reads the name of a time zone.
func (z *Zone) UnmarshalYAML(n *yaml.Node) error {
	l, err := time.LoadLocation(n.Value)
	if err != nil || n.Kind != yaml.ScalarNode {
		return fmt.Errorf("there is no time zone %q: use a name such as Europe/Berlin, or leave it out for UTC", n.Value)
	}
	z.Location = l
	return nil
}

// YAMLSchema describes the type to strictyaml.Schema.
func (Zone) YAMLSchema() map[string]any { return map[string]any{"type": "string"} }

// weekdays are the words of Window.Days; the index is a time.Weekday.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// Check returns an error for a day that does not exist.
func (w Window) Check() error {
	for _, day := range w.Days {
		if !contains(weekdays, day) {
			return fmt.Errorf("%q is no day: use %s", day, strings.Join(weekdays, ", "))
		}
	}
	return nil
}

// Holds reports whether a time is in the window.
func (w Window) Holds(t time.Time) bool {
	t = t.In(w.location())
	// The window of today, and that of yesterday, which may last past midnight.
	for back := range 2 {
		day := t.AddDate(0, 0, -back)
		if len(w.Days) > 0 && !contains(w.Days, weekdays[day.Weekday()]) {
			continue
		}
		from, to := w.From.on(day), w.To.on(day)
		if !to.After(from) {
			to = w.To.on(day.AddDate(0, 0, 1))
		}
		if !t.Before(from) && t.Before(to) {
			return true
		}
	}
	return false
}

func (w Window) location() *time.Location {
	if w.Zone.Location == nil {
		return time.UTC
	}
	return w.Zone.Location
}

func (c Clock) on(day time.Time) time.Time {
	return time.Date(day.Year(), day.Month(), day.Day(), c.Minutes/60, c.Minutes%60, 0, 0, day.Location())
}

// String returns the window as text.
func (w Window) String() string {
	days := strings.Join(w.Days, ", ")
	if days == "" {
		days = "every day"
	}
	return fmt.Sprintf("%s %s to %s %s", days, w.From, w.To, w.location())
}

func contains(list []string, x string) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}
