package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := program{out: os.Stdout}
	cmd := &cobra.Command{
		Use:           "compare [CASE...]",
		Short:         "Compare inventories and conversions with ansible-core's answers",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(_ *cobra.Command, args []string) error { return p.run(ctx, args) },
	}
	cmd.Flags().StringVar(&p.root, "root", "test/compare", "directory of the cases")
	cmd.Flags().BoolVar(&p.update, "update", false, "write ansible-core's answers into the cases")
	cmd.Flags().IntVar(&p.random, "random", 0, "also compare this number of random inventories")
	cmd.Flags().Uint64Var(&p.seed, "seed", 1, "seed of the first random inventory; the others follow")
	cmd.Flags().BoolVar(&p.verbose, "verbose", false, "show the listed differences and the notes, too")
	if err := cmd.ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "compare: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// program is one run of the command.
type program struct {
	root            string
	update, verbose bool
	random          int
	seed            uint64
	out             io.Writer
}

// tally counts the cases of a kind.
type tally struct{ cases, equal, listed, silent int }

func (p *program) run(ctx context.Context, only []string) error {
	var parts []string
	var errs []error
	var listed, silent int
	for _, k := range kinds() {
		t, err := p.kind(ctx, k, only)
		errs = append(errs, err)
		if k.Name == inventories.Name {
			errs = append(errs, p.randomInventories(ctx, k, &t))
		}
		parts = append(parts, fmt.Sprintf("%s=%d equal=%d", k.Name, t.cases, t.equal))
		listed += t.listed
		silent += t.silent
	}
	fmt.Fprintf(p.out, "compare %s listed=%d silent=%d\n", strings.Join(parts, " "), listed, silent)
	if silent > 0 {
		errs = append(errs, fmt.Errorf("%d cases differ from ansible-core in silence", silent))
	}
	return errors.Join(errs...)
}

func (p *program) kind(ctx context.Context, k Kind, only []string) (tally, error) {
	var t tally
	dirs, err := k.Cases(p.root)
	if err != nil {
		return t, err
	}
	var errs []error
	for _, dir := range dirs {
		if len(only) > 0 && !slices.Contains(only, filepath.Base(dir)) {
			continue
		}
		if err := p.one(ctx, k, dir, &t); err != nil {
			errs = append(errs, fmt.Errorf("%s/%s: %w", k.Name, filepath.Base(dir), err))
		}
	}
	return t, errors.Join(errs...)
}

// randomInventories compares random inventories.
func (p *program) randomInventories(ctx context.Context, k Kind, t *tally) error {
	for i := range p.random {
		seed := p.seed + uint64(i)
		dir, err := os.MkdirTemp("", "compare-random-")
		if err != nil {
			return err
		}
		err = random(dir, seed)
		if err == nil {
			err = (&program{update: true, verbose: p.verbose, out: p.out}).one(ctx, k, dir, t)
		}
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			return fmt.Errorf("the inventory of --random 1 --seed %d: %w", seed, err)
		}
		if t.silent > 0 {
			return fmt.Errorf("the inventory of --random 1 --seed %d differs", seed)
		}
	}
	return nil
}

// one compares one case, after it has checked that the stored answer is still
// ansible-core's.
func (p *program) one(ctx context.Context, k Kind, dir string, t *tally) error {
	asked, err := ask(ctx, k, dir)
	if err != nil {
		return err
	}
	if p.update {
		data, err := asked.encode()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, answerFile), data, 0o644); err != nil {
			return err
		}
	}
	stored, err := readAnswer(dir)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(canonical(stored), canonical(asked)) {
		return fmt.Errorf("%s is not ansible-core's answer any more; look at the difference and run with --update", answerFile)
	}
	v, own, err := compareCase(ctx, k, dir)
	if err != nil {
		return err
	}
	p.count(k, dir, v, own, t)
	return nil
}

func (p *program) count(k Kind, dir string, v Verdict, own Own, t *tally) {
	t.cases++
	word := "equal"
	switch {
	case len(v.Silent) > 0:
		word = "silent"
		t.silent++
	case len(v.Listed) > 0:
		word = "listed"
		t.listed++
	default:
		t.equal++
	}
	fmt.Fprintf(p.out, "%-7s %s/%s\n", word, k.Name, filepath.Base(dir))
	for _, d := range v.Silent {
		fmt.Fprintf(p.out, "        %s\n", d)
	}
	if !p.verbose {
		return
	}
	for _, d := range v.Listed {
		fmt.Fprintf(p.out, "        listed: %s\n", d)
	}
	for _, n := range own.Notes {
		fmt.Fprintf(p.out, "        note: %s\n", n)
	}
}

// ask asks ansible-core, in a directory of the case's own.
func ask(ctx context.Context, k Kind, dir string) (Answer, error) {
	work, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	return k.Ansible(ctx, dir, work)
}

// compareCase compares deployer's answer with the stored one.
func compareCase(ctx context.Context, k Kind, dir string) (Verdict, Own, error) {
	work, err := os.MkdirTemp("", "compare-")
	if err != nil {
		return Verdict{}, Own{}, err
	}
	defer os.RemoveAll(work)
	stored, err := readAnswer(dir)
	if err != nil {
		return Verdict{}, Own{}, err
	}
	own, err := k.Deployer(ctx, dir, work)
	if err != nil {
		return Verdict{}, Own{}, fmt.Errorf("deployer: %w", err)
	}
	return Judge(stored, own), own, nil
}
