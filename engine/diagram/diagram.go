package diagram

import (
	"fmt"
	"slices"
	"strings"

	"deployer/engine/program"
	"deployer/shortlist"
)

// Diagram is the drawing of a playbook: plays, their items, and arrows.
type Diagram struct {
	Name   string
	Plays  []Play
	Arrows []Arrow
}

// Play is a play. Hosts go through its items from the first to the last, and through the
// plays in order.
type Play struct {
	ID, Name string
	Hosts    string   // the pattern or the names of its hosts
	Remarks  []string // remarks, such as the sizes of its batches
	Items    []Item
}

// Kind is the kind of an item.
type Kind int

// The kinds of item.
const (
	Step    Kind = iota // a task, or with [Options.Fold] the tasks of a role that follow each other
	Barrier             // all live hosts of the play wait for each other
	Begin               // of a block in which hosts take turns, or which waits for a label
	End                 // of that block
)

// Item is a line of a play.
type Item struct {
	ID      string // unique in the diagram; Begin and End of a block have the same
	Kind    Kind
	Depth   int // number of drawn blocks around it
	Text    string
	Remarks []string // such as "run once"
	RunOnce bool     // one host executes the step, the others wait
	tasks   int      // of a folded item
	role    string
}

// Arrow goes from a step with a label to a step or block that waits for the label.
type Arrow struct{ From, To, Text string }

// Options are options of New.
type Options struct {
	// Fold draws the tasks of a role that follow each other as one step, unless hosts wait
	// there.
	Fold bool
	// Hosts describes the hosts of a play; nil for the pattern of the play.
	Hosts func(*program.Play) string
}

// New returns the diagram of a program. Handlers are left out, as they have no fixed place.
func New(p *program.Program, o Options) *Diagram {
	b := &builder{d: &Diagram{Name: p.Name}, o: o, p: p, labels: map[*program.Label]string{}, drawn: map[*program.Block]string{}}
	for _, op := range p.Ops {
		b.add(op)
	}
	b.arrows()
	return b.d
}

type builder struct {
	d      *Diagram
	o      Options
	p      *program.Program
	play   *Play
	depth  int
	nodes  int
	labels map[*program.Label]string // the item with the label
	needs  []pendingNeed
	drawn  map[*program.Block]string // the ids of blocks that are drawn
}

type pendingNeed struct {
	need program.Need
	to   string
}

func (b *builder) id() string {
	b.nodes++
	return fmt.Sprintf("s%d", b.nodes)
}

func (b *builder) add(op program.Op) {
	switch op.Kind {
	case program.OpPlay:
		b.beginPlay(op.Play)
	case program.OpBarrier:
		b.item(Item{ID: b.id(), Kind: Barrier, Text: "barrier: all hosts of the play"})
	case program.OpTask:
		b.task(op.Task)
	case program.OpBlock:
		b.block(op.Block)
	case program.OpEnd:
		if id, drawn := b.drawn[op.Block]; drawn {
			b.depth--
			b.item(Item{ID: id, Kind: End})
		}
	case program.OpLabel:
		b.label(op.Label)
	}
}

func (b *builder) beginPlay(p *program.Play) {
	hosts := p.Hosts
	if b.o.Hosts != nil {
		hosts = b.o.Hosts(p)
	}
	play := Play{ID: fmt.Sprintf("p%d", p.Index+1), Name: p.Name, Hosts: hosts}
	if len(p.Serial) > 0 {
		sizes := make([]string, len(p.Serial))
		for i, size := range p.Serial {
			sizes[i] = size.String()
		}
		play.Remarks = append(play.Remarks, "batches: "+strings.Join(sizes, ", "))
	}
	b.d.Plays = append(b.d.Plays, play)
	b.play = &b.d.Plays[len(b.d.Plays)-1]
	b.depth = 0
}

func (b *builder) item(i Item) {
	i.Depth = b.depth
	b.play.Items = append(b.play.Items, i)
}

// task adds a step, or counts it in the step before it.
func (b *builder) task(t *program.Task) {
	item := Item{Kind: Step, Text: t.Prefix + t.Name, role: t.Role, tasks: 1, Remarks: taskRemarks(t), RunOnce: t.RunOnce}
	if t.Role != "" {
		item.Text = t.Role + ": " + item.Text
	}
	if n := len(b.play.Items); b.o.Fold && n > 0 && len(item.Remarks) == 0 && len(t.Needs) == 0 {
		last := &b.play.Items[n-1]
		if last.Kind == Step && last.role == t.Role && len(last.Remarks) == 0 && t.Role != "" && last.Depth == b.depth {
			last.tasks++
			last.Text = fmt.Sprintf("%s (%d steps)", t.Role, last.tasks)
			return
		}
	}
	item.ID = b.id()
	b.item(item)
	b.require(t.Needs, item.ID)
}

// block adds a block in which hosts wait; others are not drawn.
func (b *builder) block(block *program.Block) {
	remarks := blockRemarks(block)
	if len(remarks) == 0 && len(block.Needs) == 0 {
		return
	}
	id := b.id()
	b.drawn[block] = id
	b.item(Item{ID: id, Kind: Begin, Text: block.Name, Remarks: remarks})
	b.depth++
	b.require(block.Needs, id)
}

func (b *builder) require(needs []program.Need, to string) {
	for _, n := range needs {
		b.needs = append(b.needs, pendingNeed{n, to})
	}
}

// label gives the last step or block the label.
func (b *builder) label(l *program.Label) {
	if len(b.play.Items) == 0 {
		b.item(Item{ID: b.id(), Kind: Step, Text: "label"})
	}
	id := b.play.Items[len(b.play.Items)-1].ID
	first := slices.IndexFunc(b.play.Items, func(i Item) bool { return i.ID == id }) // of a block, its begin
	b.play.Items[first].Remarks = append(b.play.Items[first].Remarks, fmt.Sprintf("label %q", l.Name))
	b.labels[l] = id
}

func (b *builder) arrows() {
	for _, n := range b.needs {
		text := fmt.Sprintf("needs %q on all hosts", n.need.Label.Name)
		if n.need.Count > 0 {
			text = fmt.Sprintf("needs %q on %s", n.need.Label.Name, shortlist.Count(n.need.Count, "host"))
		}
		b.d.Arrows = append(b.d.Arrows, Arrow{From: b.labels[n.need.Label], To: n.to, Text: text})
	}
}
