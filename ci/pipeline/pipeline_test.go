package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/ci/pipeline"
	"deployer/ci/report"
	"deployer/ci/repository"
	"deployer/project"
)

// fakeDeployer is a program that records its arguments and the Kubernetes version and
// hosts of its inventory, and fails where a file "fail VERB" or "fail VERB @REVISION"
// says so, with the exit code in it.
//
// It prints the environment variables that the file "print" names, and has the runs that the
// file "runs" lists, the kubeconfig of the file "kubeconfig", and the upgrade of the file "upgrade".
const fakeDeployer = `#!/bin/sh
verb=$1
case "$1 $2" in
"runs list") cat "$FAKE_DIR/runs" 2>/dev/null || echo '[]'; exit 0;;
"runs show") echo "$4 of $3, $TOKEN"; exit 0;;
"rollback --print-upgrade") cat "$FAKE_DIR/upgrade" 2>/dev/null || echo up1; exit 0;;
"kubeconfig --file") umask 077; cat "$FAKE_DIR/kubeconfig" > "$3" 2>/dev/null || echo "admin of $verb" > "$3"; exit 0;;
esac
inventory= previous= plan=
for word; do
  [ "$previous" = -i ] && inventory=$word
  [ "$previous" = -o ] && plan=$word
  previous=$word
done
[ -n "$DEPLOYER_CI_RUN" ] && echo "$DEPLOYER_CI_RUN $verb" >> "$FAKE_DIR/ids"
line="$*"
[ -n "$inventory" ] && line="${line%% -i *} @$(sed -n 's/.*revision: //p' "$inventory")"
echo "$line" >> "$FAKE_DIR/calls"
changes=$(cat "$FAKE_DIR/changes" 2>/dev/null || echo '[]')
[ -n "$plan" ] && echo '{"format":1,"changes":'"$changes"',"hosts":[]}' > "$plan"
echo "output of $verb with $TOKEN"
for name in $(cat "$FAKE_DIR/print" 2>/dev/null); do echo "$verb has $name=$(printenv "$name")"; done
fail="$FAKE_DIR/fail $verb"
[ -e "$fail" ] || fail="$fail @${line##*@}"
if [ -e "$fail" ]; then
  code=$(cat "$fail")
  [ -e "$FAKE_DIR/once" ] && rm "$fail" "$FAKE_DIR/once"
  [ "$code" = kill ] && kill -9 $PPID $$
  exit "$code"
fi
exit 0
`

// agents has no binaries; variables need only the digest.
type agents struct{}

func (agents) AgentBinary(string) ([]byte, error) { return nil, errors.New("there is none") }
func (agents) AgentGzip(string) ([]byte, error)   { return nil, errors.New("there is none") }
func (agents) AgentDigest(string) (string, error) { return strings.Repeat("a", 64), nil }

// site is a repository with a fake deployer.
type site struct {
	t    *testing.T
	dir  string // work tree
	fake string
	out  bytes.Buffer
	now  time.Time
}

func newSite(t *testing.T, files map[string]string) *site {
	t.Helper()
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		t.Setenv(name, os.DevNull)
	}
	s := &site{t: t, dir: filepath.Join(t.TempDir(), "work"), fake: t.TempDir(), now: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	t.Setenv("FAKE_DIR", s.fake)
	s.write(filepath.Join(s.fake, "deployer"), fakeDeployer)
	if err := os.Chmod(filepath.Join(s.fake, "deployer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "-b", "main")
	s.commit(files)
	return s
}

func (s *site) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Dir = s.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files, removes those without text, and returns the commit.
func (s *site) commit(files map[string]string) string {
	s.t.Helper()
	for name, text := range files {
		if text == "" {
			s.git("rm", "-q", name)
			continue
		}
		s.write(filepath.Join(s.dir, name), text)
		s.git("add", name)
	}
	s.git("commit", "-q", "--allow-empty", "-m", "change")
	return s.git("rev-parse", "HEAD")
}

func (s *site) options() pipeline.Options {
	s.t.Helper()
	repo, err := repository.Open(s.t.Context(), s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	keys, err := repository.OpenKeyFile(filepath.Join(s.fake, "ci-state.key"))
	if err != nil {
		s.t.Fatal(err)
	}
	return pipeline.Options{Repository: repo, States: repo.OpenStates(keys, "clusters", filepath.Join(s.fake, "known")), State: filepath.Join(s.fake, "state"), New: "HEAD", Out: &s.out,
		Now:      func() time.Time { return s.now },
		Deployer: pipeline.Program{Path: filepath.Join(s.fake, "deployer"), Name: "deployer"},
		Load: func(path string, r pipeline.Reading) (*project.Project, error) {
			return project.LoadCluster(path, project.Options{LookupEnv: r.LookupEnv, IsPlaceholder: r.IsPlaceholder, Confined: r.Confined})
		},
		Inputs: func(inventory, playbook string, r pipeline.Reading) (*project.PlaybookInputs, error) {
			return project.ReadPlaybookInputs(inventory, playbook, project.Options{Agents: agents{}, LookupEnv: r.LookupEnv, IsPlaceholder: r.IsPlaceholder, Confined: r.Confined})
		}}
}

func (s *site) run(o pipeline.Options) (*report.Run, *pipeline.Pipeline) {
	s.t.Helper()
	p, err := pipeline.Open(s.t.Context(), o)
	if err != nil {
		s.t.Fatal(err)
	}
	defer p.Close(s.t.Context())
	r, err := p.Run(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return r, p
}

// calls returns the command lines of the fake deployer since the last call.
func (s *site) calls() []string {
	s.t.Helper()
	file := filepath.Join(s.fake, "calls")
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		s.t.Fatal(err)
	}
	os.Remove(file)
	var out []string
	data = idsAndSteps.ReplaceAll(data, []byte("resume --yes"))
	for line := range strings.Lines(strings.ReplaceAll(string(data), " --lock-timeout 30m", "")) {
		out = append(out, strings.TrimSuffix(line, "\n"))
	}
	return out
}

// idsAndSteps matches what TestResumesTheRunThatWasWrittenDown checks.
var idsAndSteps = regexp.MustCompile(`resume( [-.\da-f]{28})? --yes --lock-timeout 30m( --step=\S+)+( --playbook \S+)?`)

func (s *site) requireCalls(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.calls()); diff != "" {
		s.t.Errorf("command lines: %s", diff)
	}
}

func (s *site) requireOutcome(r *report.Run, want report.Outcome) {
	s.t.Helper()
	if r.Outcome != want {
		s.t.Errorf("the run %s, want %s\n%s", r.Outcome, want, s.out.String())
	}
}

// inventoryOf returns an inventory with minions and a version, whose revision the
// fake deployer records.
func inventoryOf(revision, version, minions string) string {
	return "# revision: " + revision + "\ncluster: {name: lab, kubernetes: " + version + `}
hosts:
  m[1:3]: {address: "10.0.0.[11:13]"}
  n[1:4]: {address: "10.0.0.[21:24]"}
roles: {master: "m[1:3]", minion: "` + minions + `"}
`
}

// deployed returns a site whose first revision, with the minions n1 and n2, is deployed.
func deployed(t *testing.T, more map[string]string) *site {
	t.Helper()
	files := map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")}
	for name, text := range more {
		files[name] = text
	}
	s := newSite(t, files)
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("apply --yes @a", "verify @a")
	return s
}

func TestNothingToDo(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"README.md": "hello"})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	s.requireCalls()
}

func TestHostsLeaveAndJoin(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:4]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("scale-down n1 --check @a", "scale-down --yes n1 @a", "scale-up n3 n4 @b", "verify @b")
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
}

func TestConfigurationIsAppliedAsPlanned(t *testing.T) {
	s := deployed(t, nil)
	text := strings.Replace(inventoryOf("b", "v1.35.4", "n[1:2]"), "name: lab,", "name: lab, kubelet: {max_pods: 60},", 1)
	s.commit(map[string]string{"inventory.yaml": text})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	calls := s.calls()
	if len(calls) != 3 || !strings.HasPrefix(calls[0], "plan install -o ") && !strings.HasPrefix(calls[0], "plan install -o") ||
		!strings.HasPrefix(calls[1], "apply "+s.fake) || calls[2] != "verify @b" {
		t.Errorf("calls %q", calls)
	}
	if !strings.HasPrefix(r.Clusters[0].Plan, "sha256:") {
		t.Errorf("plan %q", r.Clusters[0].Plan)
	}
}

func TestPlanMustBeApproved(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"),
		"deployer.ci.yaml": "environments:\n  production:\n    inventories: [inventory.yaml]\n    gates: {approved_plan: {level: block}}\n"})
	first, _ := s.run(s.options())
	s.requireOutcome(first, report.Refused)
	approved := s.options()
	approved.Approved = first.Clusters[0].Plan
	first, _ = s.run(approved)
	s.requireOutcome(first, report.Deployed)
	s.requireCalls("apply --yes @a", "verify @a")
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Refused)
	s.requireCalls()
	plan := r.Clusters[0].Plan
	o := s.options()
	o.Approved = "sha256:another"
	r, _ = s.run(o)
	s.requireOutcome(r, report.Refused)
	o.Approved = plan
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("scale-up n3 @b", "verify @b")
}

// TestOneApprovalForAllClusters: a push changes two clusters. The run that has the approval
// deploys one of them; the next one deploys the other without asking again.
func TestOneApprovalForAllClusters(t *testing.T) {
	config := "environments:\n  staging: {inventories: [staging.yaml], gates: {approved_plan: {level: block}}}\n  production: {inventories: [inventory.yaml], gates: {approved_plan: {level: block}}}\n"
	s := newSite(t, map[string]string{"deployer.ci.yaml": config, "staging.yaml": stagingOf("a", "v1.35.4"), "inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Refused)
	found := r.Findings()
	if want := "approved_plan: the plan of the push, " + r.Plan + ", is not approved; review it, then run the pipeline with --approve " + r.Plan; len(found) != 1 || found[0].String() != want {
		t.Errorf("findings %v, want %s", found, want)
	}
	s.requireCalls()
	o := s.options()
	o.Approved = r.Plan
	s.write(filepath.Join(s.fake, "fail apply @a"), "1")
	r, _ = s.run(o)
	s.requireOutcome(r, report.Failed)
	s.requireCalls("apply --yes @staging-a", "verify @staging-a", "apply --yes @a")
	if err := os.Remove(filepath.Join(s.fake, "fail apply @a")); err != nil {
		t.Fatal(err)
	}
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @a", "apply --yes @a", "verify @a")

	// The approval was only for that plan.
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ = s.run(o)
	s.requireOutcome(r, report.Refused)
	s.requireCalls()
}

// TestOlderRevisionIsRefused: the pipeline of the first revision is refused when it
// runs again after n3 has joined, and after a deploy of n4 has stopped.
func TestOlderRevisionIsRefused(t *testing.T) {
	s := deployed(t, nil)
	first := s.git("rev-parse", "HEAD")
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	second := s.commit(map[string]string{"README.md": "nothing of the cluster"})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	third := s.commit(map[string]string{"inventory.yaml": inventoryOf("c", "v1.35.4", "n[1:4]")})
	s.write(filepath.Join(s.fake, "fail scale-up @c"), "1")
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.calls()
	for older, newer := range map[string]string{first: second, second: third} {
		o := s.options()
		o.New = older
		r, _ = s.run(o)
		s.requireOutcome(r, report.Refused)
		if found := r.Findings(); len(found) != 1 || found[0].Rule != "older_revision" || !strings.Contains(found[0].Message, report.Short(older)+" is older than "+report.Short(newer)) || !strings.Contains(found[0].Advice, "deployer ci rollback inventory.yaml --to") {
			t.Errorf("findings %v", found)
		}
		if calls := s.calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "--yes") }) {
			t.Errorf("calls %q", calls)
		}
	}
	o := s.options()
	o.New, o.AllowOlder = first, true
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	if calls := s.calls(); !slices.Contains(calls, "verify @a") || !slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, "scale-down --yes") }) {
		t.Errorf("calls %q", calls)
	}
}

// TestDeletedInventoryIsRefused: a push that removes an inventory is refused when a
// service names only the new revision. The state of the cluster is in the repository,
// or on its remote.
func TestDeletedInventoryIsRefused(t *testing.T) {
	for _, remote := range []string{"", "remote: origin\n"} {
		config := remote + "environments: {production: {inventories: ['clusters/*.yaml']}}\n"
		s := newSite(t, map[string]string{"deployer.ci.yaml": config, "clusters/a.yaml": clusterOf("a", "1", "100"), "clusters/b.yaml": clusterOf("b", "1", "100")})
		bare := filepath.Join(t.TempDir(), "bare.git")
		s.git("clone", "-q", "--bare", s.dir, bare)
		s.git("remote", "add", "origin", bare)
		r, _ := s.run(s.options())
		s.requireOutcome(r, report.Deployed)
		s.calls()
		s.commit(map[string]string{"clusters/b.yaml": "", "clusters/a.yaml": clusterOf("a", "2", "120")})
		for range 2 { // a state of other clusters that changes nothing
			r, _ = s.run(s.options())
			s.requireOutcome(r, report.Refused)
			if found := r.Findings(); len(found) != 1 || !strings.Contains(found[0].Message, "the cluster b is in no inventory any more") {
				t.Errorf("findings %v", found)
			}
		}
		s.calls()
		s.commit(map[string]string{"deployer.ci.yaml": config + "removed: [clusters/b.yaml]\n"})
		r, _ = s.run(s.options())
		s.requireOutcome(r, report.Deployed)
		s.calls()
		s.commit(map[string]string{"deployer.ci.yaml": config}) // CI has forgotten it
		r, _ = s.run(s.options())
		s.requireOutcome(r, report.Nothing)
		const ref = "refs/deployer/state/clusters%2Fb.yaml"
		if state := s.git("cat-file", "blob", ref); !strings.Contains(state, `"removed": true`) || strings.Contains(state, "verified") {
			t.Errorf("the state of the removed cluster: %s", state)
		}
		if remote != "" && !strings.Contains(s.git("ls-remote", "origin"), s.git("rev-parse", ref)+"\t"+ref) {
			t.Errorf("the remote has another state: %s", s.git("ls-remote", "origin"))
		}
	}
}

const twoEnvironments = "environments:\n  staging: {inventories: [staging.yaml]}\n  production: {inventories: [inventory.yaml], upgrade_args: [--batch-size=5%]}\n"

func stagingOf(revision, version string) string {
	return strings.NewReplacer("name: lab", "name: staging", "10.0.0", "10.0.1", "revision: "+revision, "revision: staging-"+revision).Replace(inventoryOf(revision, version, "n1"))
}

func TestVersionReachesStagingFirst(t *testing.T) {
	s := newSite(t, map[string]string{"deployer.ci.yaml": twoEnvironments, "staging.yaml": stagingOf("a", "v1.35.4"), "inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	s.run(s.options())
	s.requireCalls("apply --yes @staging-a", "verify @staging-a", "apply --yes @a", "verify @a")
	s.commit(map[string]string{"staging.yaml": stagingOf("b", "v1.36.3"), "inventory.yaml": inventoryOf("b", "v1.36.3", "n[1:2]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("upgrade @staging-b", "verify @staging-b", "upgrade --batch-size=5% @b", "verify @b")
}

func TestFailedVerifyRollsBackAndStops(t *testing.T) {
	s := newSite(t, map[string]string{"deployer.ci.yaml": twoEnvironments, "staging.yaml": stagingOf("a", "v1.35.4"), "inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	s.run(s.options())
	s.calls()
	bad := s.commit(map[string]string{"staging.yaml": stagingOf("b", "v1.36.3"), "inventory.yaml": inventoryOf("b", "v1.36.3", "n[1:2]")})
	s.write(filepath.Join(s.fake, "fail verify"), "5")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.RolledBack)
	s.requireCalls("upgrade @staging-b", "verify @staging-b", "rollback up1 --yes --step=rollback --step=up1 --step=--yes @staging-b", "verify @staging-a")
	if r.Clusters[0].Outcome != report.RolledBack || r.Clusters[1].Outcome != report.Skipped {
		t.Errorf("outcomes %s, %s", r.Clusters[0].Outcome, r.Clusters[1].Outcome)
	}
	// The next push starts from the verified revision.
	s.commit(map[string]string{"staging.yaml": stagingOf("c", "v1.35.4"), "inventory.yaml": inventoryOf("c", "v1.35.4", "n[1:2]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Nothing)
	s.requireCalls()
	if s.git("rev-parse", "refs/deployer/verified/staging.yaml") == bad {
		t.Error("a revision that failed is verified")
	}
}

// TestKilledRunIsResumedElsewhere kills the program at a step. The next run has another
// state directory, as a fresh machine with a clone of the repository has.
func TestKilledRunIsResumedElsewhere(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:4]")})
	s.write(filepath.Join(s.fake, "fail scale-up"), "130")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Interrupted)
	s.requireCalls("scale-down n1 --check @a", "scale-down --yes n1 @a", "scale-up n3 n4 @b")
	o := s.options()
	o.State = filepath.Join(t.TempDir(), "fresh")
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @b", "scale-up n3 n4 @b", "verify @b")
	if !r.Clusters[0].Resumed {
		t.Error("the report does not say that the run was resumed")
	}
}

// TestKilledRunIsFinishedByAnotherClone: the runner of clone 1 dies after a step.
// Clone 2, with a state directory of its own, has only the state that the run has
// pushed to the remote.
func TestKilledRunIsFinishedByAnotherClone(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]"), "deployer.ci.yaml": "remote: origin\n"})
	bare := filepath.Join(t.TempDir(), "bare.git")
	s.git("clone", "-q", "--bare", s.dir, bare)
	clone := func() pipeline.Options {
		dir := filepath.Join(t.TempDir(), "clone")
		s.git("clone", "-q", bare, dir)
		s.dir = dir
		o := s.options()
		o.State = filepath.Join(t.TempDir(), "state")
		return o
	}
	r, _ := s.run(clone())
	s.requireOutcome(r, report.Deployed)
	s.calls()
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:4]")})
	s.git("push", "-q", "origin", "HEAD:main")
	first, second := clone(), clone()

	s.write(filepath.Join(s.fake, "fail scale-up"), "130")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ = s.run(first)
	s.requireOutcome(r, report.Interrupted)
	s.requireCalls("scale-down n1 --check @a", "scale-down --yes n1 @a", "scale-up n3 n4 @b")
	r, _ = s.run(second)
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @b", "scale-up n3 n4 @b", "verify @b")

	r, _ = s.run(first) // the stale clone reads that the work is done
	s.requireOutcome(r, report.Nothing)
	s.requireCalls()
}

// TestStepsAreTheSameOnEveryMachine: a host has left, and the upgrade with a rollout plan is
// interrupted. The next run has another state directory and does not take the host out again.
func TestStepsAreTheSameOnEveryMachine(t *testing.T) {
	s := deployed(t, map[string]string{"deployer.ci.yaml": "environments:\n  production: {inventories: [inventory.yaml], rollout: plans/rollout.yaml}\n", "plans/rollout.yaml": "steps: []\n"})
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.36.3", "n2")})
	s.write(filepath.Join(s.fake, "fail upgrade"), "130")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Interrupted)
	s.requireCalls("scale-down n1 --check @a", "scale-down --yes n1 @a", "upgrade --rollout plans/rollout.yaml @b")
	plan := r.Clusters[0].Plan
	o := s.options()
	o.State = filepath.Join(t.TempDir(), "fresh")
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @b", "upgrade --rollout plans/rollout.yaml @b", "verify @b")
	if r.Clusters[0].Plan != plan {
		t.Errorf("the plan is %s on one machine and %s on another", plan, r.Clusters[0].Plan)
	}
}

// TestNewPushAfterFailure: the deploy of b stopped behind the departure of n1, so the deploy
// of c does not take it out again. n4 may have joined, and only b names it: c takes it out.
func TestNewPushAfterFailure(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:4]")})
	s.write(filepath.Join(s.fake, "fail scale-up"), "1")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.calls()
	s.commit(map[string]string{"inventory.yaml": inventoryOf("c", "v1.35.4", "n[2:3]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("scale-down n4 --check @b", "resume --yes @b", "scale-down --yes n4 @b", "scale-up n3 @c", "verify @c")
}

// TestInterruptedTwice: the deploy of c, which follows the failed one of b, is killed too,
// and its steps stay the same.
func TestInterruptedTwice(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:4]")})
	s.write(filepath.Join(s.fake, "fail scale-up"), "1")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("c", "v1.35.4", "n[2:3]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.calls()
	if err := os.Remove(filepath.Join(s.fake, "fail scale-up")); err != nil {
		t.Fatal(err)
	}
	o := s.options()
	o.State = filepath.Join(t.TempDir(), "fresh")
	r, _ = s.run(o)
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("resume --yes @c", "scale-up n3 @c", "verify @c")
}

// TestPushAfterAFirstVerifyFailed: a push reaches a cluster that is installed and has
// no verified revision.
func TestPushAfterAFirstVerifyFailed(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	s.write(filepath.Join(s.fake, "fail verify"), "5")
	s.write(filepath.Join(s.fake, "once"), "")
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Failed)
	s.requireCalls("apply --yes @a", "verify @a")
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:3]")})
	r, _ = s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("scale-down n1 --check @a", "scale-down --yes n1 @a", "scale-up n3 @b", "verify @b")
}

// TestHostOfAFailedDeployComesBack: n1, which has left with the failed deploy of b,
// joins again with the next push.
func TestHostOfAFailedDeployComesBack(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[2:3]")})
	s.write(filepath.Join(s.fake, "fail scale-up"), "1")
	s.write(filepath.Join(s.fake, "once"), "")
	s.run(s.options())
	s.calls()
	s.commit(map[string]string{"inventory.yaml": inventoryOf("c", "v1.35.4", "n[1:2]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.requireCalls("scale-down n3 --check @b", "resume --yes @b", "scale-down --yes n3 @b", "scale-up n1 @c", "verify @c")
}

func TestRollbackVerb(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:3]")})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	s.calls()
	rollback := func(inventory string) *report.Run {
		p, err := pipeline.Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		r, err := p.Rollback(t.Context(), inventory, "")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	s.requireOutcome(rollback(""), report.Nothing)
	s.requireOutcome(rollback("inventory.yaml"), report.RolledBack)
	s.requireCalls("scale-down --yes n3 @b", "verify @a")
}

func TestDrift(t *testing.T) {
	s := deployed(t, nil)
	for _, c := range []struct {
		code    string
		outcome report.Outcome
		differs bool
	}{{"0", report.Passed, false}, {"2", "differs", true}, {"1", report.Failed, false}} {
		s.write(filepath.Join(s.fake, "fail apply"), c.code)
		p, err := pipeline.Open(t.Context(), s.options())
		if err != nil {
			t.Fatal(err)
		}
		r, differs, err := p.Drift(t.Context())
		if err != nil || differs != c.differs || r.Outcome != c.outcome {
			t.Errorf("exit code %s: %v, differs %v, %v", c.code, r.Outcome, differs, err)
		}
		s.requireCalls("apply --check --detailed-exitcode @a")
	}
}

const withCommands = `
secrets: [{env: TOKEN}]
stages:
  allocate: {command: [sh, -c, 'echo "token $TOKEN"; echo "ADDRESS=10.9.8.7" >> "$DEPLOYER_CI_OUTPUT"; echo fine > a.txt'], outputs: [ADDRESS], artifacts: [a.txt]}
  use: {command: [sh, -c, 'echo "got $WHERE"'], inputs: {WHERE: allocate.ADDRESS}}
  leak: {command: [sh, -c, 'echo $TOKEN > leak.txt'], artifacts: [leak.txt], allow_fail: true}
  deploy: {uses: deploy, environment: production}
  verify: {uses: verify, environment: production}
`

func TestCommandsPassValuesAndNoSecrets(t *testing.T) {
	t.Setenv("TOKEN", "s3cr3t-s3cr3t")
	s := newSite(t, map[string]string{"deployer.ci.yaml": withCommands, "inventory.yaml": inventoryOf("a", "v1.35.4", "n[1:2]")})
	r, p := s.run(s.options())
	s.requireOutcome(r, report.Deployed)
	if err := p.WriteReports(r, p.Reports()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.out.String(), "got 10.9.8.7") {
		t.Errorf("the value did not arrive:\n%s", s.out.String())
	}
	if r.Stages[2].Outcome != report.Failed || !strings.Contains(r.Stages[2].Message, "leak.txt contains a secret") {
		t.Errorf("stage %+v", r.Stages[2])
	}
	if _, err := os.Stat(filepath.Join(p.Reports(), "artifacts", "a.txt")); err != nil {
		t.Error(err)
	}
	seen := 0
	err := filepath.WalkDir(p.Reports(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		seen++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("s3cr3t")) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil || seen < 8 {
		t.Errorf("%d files, %v", seen, err)
	}
	if strings.Contains(s.out.String(), "s3cr3t") {
		t.Error("the output has the secret")
	}
}

// TestGatesOfTheDeployedRevision: a push cannot switch off the gate that it breaks.
func TestGatesOfTheDeployedRevision(t *testing.T) {
	config := "environments:\n  production:\n    inventories: [inventory.yaml]\n    gates: {data_loss: {hosts: [n2]}}\n"
	s := deployed(t, map[string]string{"deployer.ci.yaml": config})
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n1"), "deployer.ci.yaml": strings.Replace(config, "n2", "m3", 1)})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Refused)
	found := r.Findings()
	if len(found) == 0 || found[0].Rule != "data_loss" || found[0].Pos.File != "inventory.yaml" || found[0].Pos.Line != 5 {
		t.Errorf("findings %v", found)
	}
	if calls := s.calls(); slices.ContainsFunc(calls, func(c string) bool { return strings.Contains(c, "--yes") }) {
		t.Errorf("calls %q", calls)
	}
}

func TestBrokenInventoryIsRefused(t *testing.T) {
	s := deployed(t, nil)
	s.commit(map[string]string{"inventory.yaml": strings.Replace(inventoryOf("b", "v1.35.4", "n1"), "kubernetes:", "kubernets:", 1)})
	r, _ := s.run(s.options())
	s.requireOutcome(r, report.Refused)
	want := `inventory.yaml:2:22: validation: unknown key "kubernets" in cluster; did you mean "kubernetes"?`
	if len(r.Findings()) != 1 || r.Findings()[0].String() != want {
		t.Errorf("got %v", r.Findings())
	}
	s.requireCalls()
}

func TestManyClustersOfOneSharedFile(t *testing.T) {
	files := map[string]string{"deployer.ci.yaml": "environments: {production: {inventories: ['clusters/*.yaml']}}\n",
		"shared.yaml": "cluster: {kubernetes: v1.35.4, kubelet: {max_pods: 100}}\n"}
	for _, name := range []string{"a", "b", "c"} {
		files["clusters/"+name+".yaml"] = "# revision: " + name + "\nextends: ../shared.yaml\ncluster: {name: " + name + "}\nhosts: {m1: {address: 10.0.0.1}}\nroles: {master: m1}\n"
	}
	s := newSite(t, files)
	s.run(s.options())
	s.calls()
	files["shared.yaml"] = strings.Replace(files["shared.yaml"], "100", "120", 1)
	files["clusters/c.yaml"] += "vars: {x: 1}\n"
	s.commit(map[string]string{"shared.yaml": files["shared.yaml"], "clusters/c.yaml": files["clusters/c.yaml"]})
	p, err := pipeline.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Assess(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page := report.Markdown(r)
	for _, want := range []string{"| production | a (`clusters/a.yaml`) | configuration | 1 of 1 | pass |", "### a, b\n\n- cluster.kubelet.max_pods (shared.yaml:1:42)", "### c\n"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	s.requireCalls()
}

func TestNewerPushSupersedesTheWaitingOne(t *testing.T) {
	s := newSite(t, map[string]string{"inventory.yaml": inventoryOf("a", "v1.35.4", "n1")})
	held, err := pipeline.Open(t.Context(), s.options())
	if err != nil {
		t.Fatal(err)
	}
	release, err := held.Lock(t.Context(), repository.Push)
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		r   *report.Run
		err error
	}
	start := func() chan result {
		o := s.options()
		o.Out = &bytes.Buffer{}
		done := make(chan result, 1)
		p, err := pipeline.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			r, err := p.Run(context.WithoutCancel(t.Context()))
			done <- result{r, err}
		}()
		return done
	}
	second := start()
	for i := 0; ; i++ {
		data, _ := os.ReadFile(filepath.Join(s.fake, "state", "lock", "waiting"))
		if i > 0 && strings.HasPrefix(string(data), report.Short(s.git("rev-parse", "HEAD"))) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond) // the second one waits
	s.commit(map[string]string{"inventory.yaml": inventoryOf("b", "v1.35.4", "n[1:2]")})
	third := start()
	var superseded *repository.SupersededError
	if got := <-second; !errors.As(got.err, &superseded) {
		t.Errorf("the second run: %+v, %v", got.r, got.err)
	}
	release()
	if got := <-third; got.err != nil || got.r.Outcome != report.Deployed {
		t.Errorf("the third run: %+v, %v", got.r, got.err)
	}
	s.requireCalls("apply --yes @b", "verify @b")
}
