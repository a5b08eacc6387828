package virtualip

import (
	"context"
	"time"

	"deployer/engine"
	"deployer/tasks/checkresult"
	"deployer/tasks/poll"
)

// Checks checks that one host has a virtual address, that the witnesses see it there, and that the
// address answers. A problem is a row of the output, not a failure.
type Checks struct {
	Address   string    `yaml:"address" rule:"address" required:"true" doc:"virtual address"`
	URL       string    `yaml:"url" rule:"url" required:"true" doc:"URL that answers with ok at the virtual address; certificates are not verified"`
	Name      string    `yaml:"name" rule:"word" required:"true" doc:"name of this host, as witnesses say it"`
	Decision  string    `yaml:"decision" rule:"url" doc:"URL on this host that answers 200 when the host may have the address, and otherwise the reason why not; default: the host never has it"`
	Witnesses []Witness `yaml:"witnesses" required:"true" doc:"hosts that say which host has the address"`
}

// Witness is a host that says which host has the address.
type Witness struct {
	Name     string `yaml:"name" rule:"word" required:"true" doc:"name of the host"`
	Endpoint string `yaml:"endpoint" rule:"endpoint" required:"true" doc:"address and port at which it answers HTTP requests"`
}

var _ engine.Module = (*Checks)(nil)

// The address may be on its way to another host, which takes less than 3 s.
const (
	moveTime     = 4 * time.Second
	observeEvery = 500 * time.Millisecond
)

// Check observes the address, again while it may be moving. The output has one row.
func (c *Checks) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	row := Row(*c, c.observe(ctx, sys))
	for deadline := time.Now().Add(moveTime); !row.OK && time.Now().Before(deadline); {
		if err := poll.Sleep(ctx, observeEvery); err != nil {
			return engine.Change{}, err
		}
		row = Row(*c, c.observe(ctx, sys))
	}
	return engine.NoChange(checkresult.Output([]checkresult.Row{row})), nil
}

// Apply is never needed.
func (*Checks) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
