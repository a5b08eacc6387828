package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"deployer/engine/diagram"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/inventory"
	"deployer/runs"
)

func newGraphCommand(e env) *cobra.Command {
	var o runOptions
	var format string
	var fold bool
	cmd := &cobra.Command{
		Use:     "graph [PLAYBOOK]",
		GroupID: "playbooks",
		Short:   "Draw a playbook, and where hosts wait for each other in it",
		Long: `Graph draws the plays and steps of a playbook, or of the install of the
inventory's cluster, and the places at which hosts wait for each other: barriers, labels
and the tasks that need them, steps that run once for all, turns of throttles and
rollouts. It contacts no host. Handlers are not drawn, as they run where a change
notifies them.

The forms are svg, a picture that browsers show; mermaid, for pages in Markdown; and
dot, for Graphviz.`,
		Example: `  deployer graph -i inventory.yaml --fold > install.svg
  deployer graph site.yaml --format mermaid
  deployer graph site.yaml --format dot | dot -Tpdf > site.pdf`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			given, err := o.resolve()
			if err != nil {
				return err
			}
			r, err := graphedRun(newRunner(e), given, args)
			if err != nil {
				return err
			}
			printUnchecked(e, r)
			return drawProgram(e.stdout, r, format, fold)
		},
	}
	inventoryFlag(cmd, &o.Inventory)
	taskFlags(cmd, &o)
	format = "svg"
	cmd.Flags().Var(&enumFlag{&format, []string{"svg", "dot", "mermaid"}}, "format", "form of the picture: svg, dot, mermaid")
	cmd.Flags().BoolVar(&fold, "fold", false, "draw the steps of a role that follow each other as one, unless hosts wait there")
	return cmd
}

// graphedRun returns a run of a playbook or, without one, of an install.
func graphedRun(c runs.Runner, o runs.Options, args []string) (*runs.Run, error) {
	c.Lookups = lang.UnknownLookups()
	if len(args) == 1 {
		o.Playbook = args[0]
		return c.Playbook(o)
	}
	return c.Install(o)
}

// drawProgram writes the diagram of a run's program.
func drawProgram(w io.Writer, r *runs.Run, format string, fold bool) error {
	var wrong error
	d := diagram.New(r.Program, diagram.Options{Fold: fold, Hosts: func(p *program.Play) string {
		matched, err := r.Project.Match(p.Hosts)
		if err != nil {
			wrong = usageError(fmt.Errorf("%s: hosts: %w", p.Pos, err))
		}
		hosts := intersect(r.Hosts, matched)
		return fmt.Sprintf("%s: %s", p.Hosts, dash(inventory.Compress(hosts)))
	}})
	if wrong != nil {
		return wrong
	}
	text := map[string]func() string{"svg": d.SVG, "dot": d.DOT, "mermaid": d.Mermaid}[format]()
	_, err := io.WriteString(w, text)
	return err
}
