package program

import (
	"deployer/engine/lang"
	"deployer/strictyaml"
)

// Block is a group of tasks with a condition, a throttle, a rollout or a rescue.
type Block struct {
	Name   string
	Pos    strictyaml.Pos
	Parent *Block
	// When are the conditions; each host evaluates them once, when it enters the block.
	When     []*lang.Expr
	Throttle *lang.Expr
	Rollout  *Rollout // nil when the block has none
	Needs    []Need
	Scopes   []*lang.Scope
	// OnlyHosts are the hosts that the block is for; nil for all hosts of the play.
	OnlyHosts map[string]bool
	refs      lang.Refs
	// Begin, Rescue, Always and End are indexes into Program.Ops; Rescue and Always are 0
	// when the block has no such part.
	Begin, Rescue, Always, End int
}

// Label is a point in the program that other tasks may wait for.
type Label struct {
	Name  string
	Index int // into Program.Labels
	Op    int // into Program.Ops
	Play  *Play
	Pos   strictyaml.Pos
}

// Need is a wait for a label.
type Need struct {
	Label *Label
	// Count is the number of hosts that must have passed the label; 0 for all live hosts.
	Count int
	Pos   strictyaml.Pos
}

// LimitsHosts reports whether the number of hosts inside the block is limited, by throttle
// or rollout.
func (b *Block) LimitsHosts() bool { return b.Throttle != nil || b.Rollout != nil }

// Applies evaluates the conditions of the block; reason is the first condition that does
// not hold.
func (b *Block) Applies(vars *lang.Vars) (ok bool, reason string, err error) {
	return lang.ConditionsHold(b.When, b.Scopes, vars)
}
