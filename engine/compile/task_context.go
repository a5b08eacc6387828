package compile

import (
	"slices"

	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/strictyaml"
)

// taskContext has the keywords that tasks inherit from the play, the role, the blocks and the includes
// around them.
type taskContext struct {
	doc       *lang.Document
	play      *program.Play
	scopes    []*lang.Scope
	role      string
	files     *lang.Files
	tags      []string
	block     *program.Block
	inherited inherited
	// here is the directory of the included file, empty outside of includes. Files of
	// include_tasks are searched there, then in dir; both are in tree.
	tree      lang.Tree
	here, dir string
	includes  []string // the files around, for circular includes
	// loops are the places of the loops of includes around, by the variables of their
	// items and positions; labels are the labels of these items.
	loops  map[string]strictyaml.Pos
	labels []*lang.Text
	state  *playState
}

// playState collects handlers and notifications while a play is compiled.
type playState struct {
	tasks     int
	handlers  []*program.Task
	byName    map[string]map[string]*program.Task // role ("" for the play) -> name -> handler
	listeners map[string][]*program.Task          // topic -> handlers
	notifies  []pendingNotify
	applied   map[string]bool // roles whose handlers and dependencies are compiled
}

type pendingNotify struct {
	from *program.Task
	name string
	role string
	pos  strictyaml.Pos
}

// with returns a copy with one more layer of variables; nil adds none.
func (x taskContext) with(scope *lang.Scope) taskContext {
	if scope != nil {
		x.scopes = append(slices.Clip(x.scopes), scope)
	}
	return x
}

// tagged returns a copy with more tags.
func (x taskContext) tagged(tags []string) taskContext {
	x.tags = append(slices.Clip(x.tags), tags...)
	return x
}

// inside returns the context of tasks in something that has the given keywords.
func (x taskContext) inside(l inherited) taskContext {
	x.inherited = l.over(x.inherited)
	return x
}

func (x taskContext) throttled() bool {
	for b := x.block; b != nil; b = b.Parent {
		if b.LimitsHosts() {
			return true
		}
	}
	return false
}

// withoutLoops returns the context without the loops of includes.
func (x taskContext) withoutLoops() taskContext {
	x.scopes = slices.DeleteFunc(slices.Clone(x.scopes), func(s *lang.Scope) bool { return s.Layer == lang.LoopItems })
	x.loops, x.labels = nil, nil
	return x
}
