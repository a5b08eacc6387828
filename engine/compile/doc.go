// Package compile turns YAML plays, roles and tasks into a [program.Program]: one
// list of operations that the scheduler takes every host through. Package project fills
// a [Compiler] with the kinds of task, the directories of roles and the inventory, and
// calls it once for each playbook. All errors that need no connection to a host are
// reported at once, each with file, line and column; the checks of variables are in
// package vet. A Compiler starts no goroutines and does not change what it is given.
//
// # Plays
//
// A playbook is a list of plays, and of entries `import_playbook: FILE` (with vars and
// tags for all its plays). A play has hosts (a pattern, required), name, vars,
// vars_files, vars_prompt, roles, pre_tasks, tasks, post_tasks, handlers, tags, max_fail
// (the number or share of the hosts of a group that may be lost) and barrier (wait for
// all live hosts of the play before its first task). The order is pre_tasks, roles
// with tasks, post_tasks; each of these three ends with the handlers that it has notified.
//
// max_fail_percentage is max_fail for all hosts of the play together, in percent.
// any_errors_fatal ends the run when a host is lost in the play, whatever max_fail
// allows. force_handlers runs the notified handlers of a host that fails in the play;
// without it the next run does, because the host stores them. forks is the maximum
// number of hosts of the play that work at one time, below the limit of the run.
// gather_facts is accepted and has no effect: the agent sends facts when it starts.
//
// Hosts do not wait for each other unless a task demands it. With `strategy: linear`
// each task waits until all live hosts of the play have executed the task before it. A
// throttled block counts as one task, and so do the handlers. Every task then costs a
// round trip, so use it only for plays that rely on lockstep. With serial (a number, a
// share such as 10%, or a list of both whose last entry repeats) the hosts go through
// the play in batches, in the order of the inventory. A batch begins when every host of
// the earlier batches has ended the play, handlers included, or is lost; the run stops
// when a whole batch is lost. Barriers, run_once and needs inside of the play apply to
// one batch; the next play waits for all batches.
//
// # Tasks
//
// A task names one module and its arguments. For a module with a main argument, a text
// or a list is that argument alone, as in `command: uptime -p`. The other keywords of a
// task are:
//
//	name           shown in output; may contain {{ }}
//	when           a condition, or a list of conditions that must all hold
//	loop           a list, or an expression that gives one; the task runs for each item, as `item`
//	loop_control   loop_var and index_var: names for the item and for its position from 0; label: the
//	               text that is shown for the item
//	register       store the result under this name: changed, failed, skipped, message, and the
//	               output of the task; of a loop: results, changed, failed, skipped
//	notify         handlers to run if this task changes something
//	changed_when, failed_when   conditions on the result, which is `result` and the registered name
//	until          try again until this holds (retries 3, delay 5s)
//	retries, delay, timeout     the number of further tries, the wait between them, and the time limit of
//	                            one try: the module's own by default, 0 for none
//	ignore_errors  continue after a failure
//	throttle       the maximum number of hosts at a time: a number or an expression, 0 for no limit
//	run_once       one host executes the task for all: the first in the order of the inventory among the
//	               hosts that reach it (within a throttle, the first to arrive); the others wait and get
//	               its result
//	delegate_to    execute on another host, or on localhost: the machine that deployer runs on. Variables,
//	               result and handlers stay those of the play's host; when the delegate cannot be reached
//	               the task fails. May contain {{ }}
//	become_user    run the programs of the task as this user; become: false runs them as the login user
//	environment    a mapping of environment variables for the programs of the task
//	barrier        before this task, wait for all live hosts of the play
//	label, needs   wait until all (or count) live hosts that run the labelled task have passed it
//	vars, tags, secret (output shows only the module, files and the exit code of the step:
//	no diff, output, command line or reason of a failure)
//
// Files are found from the directory of the playbook, or from the tasks of the role; a
// file of include_tasks is first searched beside the file that includes it. ../ and
// absolute paths lead elsewhere on the machine that deployer runs on. Long forms mean the
// same: include_role: {name: NAME}, include_tasks: {file: FILE}.
//
// include_tasks and include_role may have a loop, with loop_control: the included tasks
// are compiled once for each item, and all of them know the item. The number of items
// must be known before the run: the list is written out (items may contain any {{ }}), or
// reads variables of the playbook, the inventory and the command line, but no facts,
// results or variables that tasks set. Each host may have a list of its own. An inner
// loop names its item differently (loop_var); a label cannot be inside.
//
// include_vars: FILE sets the variables of a file in vars/ of the role, or beside the
// playbook, for later tasks, as set does. The name may contain {{ }}, such as
// "{{ facts.os_family }}.yaml", and its case does not matter; in a list of names, the
// first file that exists is used. All files that the names may mean are read before the
// run.
//
// Instead of a module a task may have: block with a list of tasks (and rescue, always,
// when, throttle, rollout with pre_tasks and post_tasks, vars, tags, needs, barrier,
// label), include_role, include_tasks, include_vars, or meta: flush_handlers, end_host or
// end_play. A block with a mapping instead of a list is the module of that name, if there is one.
// ignore_errors, timeout, delegate_to, become, become_user and environment are also
// keywords of these forms, of roles and of plays: the tasks inside inherit them unless
// they have their own. A host evaluates the condition of a block once, when it enters the
// block; the throttle of a block holds for all of it. In rescue and always, `failure` has
// message, detail and step. A host that fails inside a throttle keeps its place until its
// failure counts for max_fail and its cleanups, such as the end of a cordon, have run; a
// failure that a rescue part handles does not count. A task whose condition does not hold
// waits for no label and does not count for a throttle.
//
// # Rollouts
//
// A block with rollout changes hosts that are in use. It changes one host first, checks
// the effect, and restores hosts on which it fails:
//
//	tasks:
//	  - name: web server
//	    rollout: {canary: [web], max_parallel: 10%, max_fail: 0}
//	    block:
//	      - template: {src: site.conf, dest: /etc/nginx/conf.d/site.conf}
//	      - unit: {name: nginx.service, state: started, restart_if_older_than: [/etc/nginx/conf.d/site.conf]}
//	      - wait_for: {http: {url: "http://127.0.0.1/health"}, timeout: 30s}
//
// Each host first checks the whole block. A host on which nothing would change continues
// at once. The keys of rollout decide about the turns of the others:
//
//	canary           groups or patterns of hosts, [all] by default; hosts of each group go alone and
//	                 first, in the order of the groups; [] has no canary
//	canaries         the number of canaries of each group; default 1
//	max_parallel     the maximum number of hosts in the block after the canaries; default 10%, at least 1
//	one_at_a_time    groups or patterns of which at most one host is in the block
//	max_unavailable  by and limit: of the hosts with the same value of the expression by, such as the
//	                 label of a zone, at most limit are in the block, at least 1; a share is one of the
//	                 hosts with that value whose check has ended. Also a list of these, all of which
//	                 hold, or an expression that gives such a list, with values instead of expressions
//	spread           an expression, such as the label of a zone: waiting hosts take turns over its values
//	max_fail         the number of hosts that may fail after the canaries before the rollout stops;
//	                 default 0. The limit of the host that fails counts
//	steps            a list of {hosts, max_parallel, max_fail}: the hosts of a step are done before those of
//	                 the next one begin; hosts of no step come last. hosts is a group or pattern, or a list
//	                 of these. max_parallel holds beside that of the rollout; max_fail replaces it for
//	                 these hosts. A step {parallel: [...]} has several such groups side by side. A host is
//	                 in the first group that has it. Canaries are of the first step that has a host of
//	                 their group. Also an expression that gives such a list
//	critical         groups or patterns of hosts: when one of them fails, the rollout stops
//	soak             a duration such as 2m, or an expression that gives one: after the change of a canary
//	                 and its post_tasks the rollout waits so long, and then the gates of the block must hold
//	                 again on the canary; else it is restored, between its pre_tasks and post_tasks
//	restore_if_lost  a duration such as 2m, or an expression that gives one: a host inside of the block
//	                 whose agent has no connection for so long, because the change has cut it off or
//	                 because the controller was lost, restores itself, and at the end of the block a new
//	                 connection must succeed; default: never
//	pause            true, or a condition: after the canaries the run stops as after an interrupt, and
//	                 `deployer resume` changes the other hosts. The variables are those of the first host
//	                 of the play before the run. A revert does not pause
//	when             conditions that select the hosts for which the rollout is in force; for other hosts
//	                 the block is a block without rollout
//
// A number of hosts may be a number, a share of the hosts of the play (10%), or an
// expression that gives either, such as a variable of the command line. Groups may contain
// {{ }} with variables that are the same on all hosts before the run; a text that is one
// {{ }} may give a list.
//
// When a host fails inside of the block after something was changed on it, the files and
// states that its tasks have replaced are restored, the last first. Services follow the
// restored files, handlers included, and the readiness gates of the block (waits, units,
// checks) must hold again. The rollout stops when a canary or a critical host fails, or
// when more hosts than max_fail do. No other host is changed then, hosts inside reach the
// end of the block or are restored, and the run ends with exit code 6 when each failed host
// is in its previous state. --no-restore does not restore failed hosts. A host that is lost
// inside cannot be restored, unless restore_if_lost is set; the rollout stops, and the report
// names the host.
//
// A host records that it has begun the block. After a run that was killed, the next run of
// the playbook takes it through the gates again, also when nothing is left to change there.
// When they do not hold, `deployer resume` restores what the killed run has changed; a new
// run reports the host.
//
// Beside block there may be pre_tasks and post_tasks, such as a drain of a node and its end.
// They run on hosts that would change, and on no others: pre_tasks when the host has its
// turn, before its change; post_tasks after its change, after its restore, and after a
// failure of pre_tasks. A host on which one of them fails is a failed host of the rollout.
// When pre_tasks fail, nothing of the block is executed there; when only post_tasks fail,
// the change stays. Nothing that they change is restored. Tasks of the block cannot read
// variables that pre_tasks set, because the check of the block runs without them. A host
// records that its post_tasks are due: after a run that was killed, the next run of the
// playbook, or its revert, executes them. An interrupt during pre_tasks leads to the
// post_tasks of the host, without its change. A revert executes the same pre_tasks and
// post_tasks around the restore. --tags selects them with any task of the block.
//
// Commands, and the effects of tasks on the controller or on other hosts, cannot be
// restored: keep them out of a rollout, or make them harmless to repeat. A barrier,
// run_once, meta: end_host or another rollout cannot be inside.
//
// # Users
//
// deployer logs in to a host as one user and becomes root by the method in ssh.become of the
// inventory. become_user: NAME runs the programs of a task as NAME, with its groups and
// home; become: false runs them as the login user. Both apply to tasks that run programs:
// command, shell, script, git. Modules that write files have owner: instead, and refuse
// another user; for all other modules an inherited user has no effect.
//
// # Handlers
//
// A host stores the handlers that its changes have notified until the handlers have run:
// when a run is killed, or a host lost, between a change and its handler, the next run of
// the same playbook runs the handler. Handlers that run on the controller or are
// delegated to another host are not stored.
//
// meta: end_host, usually with when, ends the play for the host: its notified handlers
// run, and the host takes part in the next play. In an always part, the failure that led
// there stays a failure. meta: end_play ends the play for all hosts; its condition must
// be the same on all of them.
//
// Handlers run at the end of the play, or at flush_handlers, once, in the order of
// definition; a handler that another handler notifies runs after it. A name is searched
// first in the role of the task, then in the play, then in its other roles. With listen
// (a name or a list of names) a handler runs for these names, too, together with all
// other handlers that listen to them.
//
// # Expressions and templates
//
// Conditions, loops, throttles and the content of {{ }} in a text are expressions of
// https://expr-lang.org:
//
//	when: facts.os == "debian" and not (maintenance | default(false))
//	loop: groups.web | difference([host.name])
//	line: {path: /etc/hosts, line: "{{ hosts[item].address }} {{ item }}:{{ port ?? 8080 }}"}
//
// A text that is one {{ }} keeps the type of its value. In a longer text numbers have no
// exponent, lists and mappings are JSON, and null is an error. {{- and -}} drop the white
// space beside them. Literal braces stand in quotes, {{ '{{' }}, or between {% raw %} and
// {% endraw %}. {{ omit }} leaves its argument out, as in {{ mode | default(omit) }}. An
// argument that is not a text gets the value of the expression, or else the text read as
// YAML.
//
// Expressions may call the functions of expr, the filters of Ansible (default,
// regex_replace, combine, dict2items, ipaddr, to_nice_yaml and the like; the guide "From
// Ansible" lists them), and those of sprig except env, expandenv and getHostByName, with
// toYaml, fromYaml, toToml and versionCompare(a, b), which is -1, 0 or 1. Behind a | all
// of them take the value in front of it, as their first argument, those of sprig as their
// last; a | binds to the value right before it. Tests of Ansible follow is and is not
// (a is defined, a is version('1.2', '>='), result is failed); A if CONDITION else B
// evaluates A or B, like CONDITION ? A : B. lookup('file', NAME), lookup('template',
// NAME), lookup('env', NAME) and lookup('password', 'FILE length=20') read from the
// machine that deployer runs on; the last one makes the file when it is missing, in a dry
// run too, so that the next run reads the same password. Checks before the run and
// run --list evaluate no lookup but template. Values of lookups are not known to be
// secret: a task that handles a password needs secret: true.
//
// A name that does not exist is an error. It is found before any host is contacted where
// a host is certain to read it: in tasks without a condition, in the template files that
// these tasks name, and in conditions. Names in {{ define }} parts of a template file, and in
// a file of lookup('template', NAME), count where the part or the lookup is certain to be
// used and the name of the file is a constant. In a loop that has no items before the run, a
// name is an error when no host has it, no task gives it a value and nothing tests it. For
// names that may be missing there are a is defined, a | default(b), a ?? b, a?.b and "a" in
// $env.
//
// Template files are text/template with the functions of sprig and toYaml, fromYaml,
// toToml; they may include each other. A variable stands there by its name, {{ port }},
// {{ host.name }}, {{ if debug }}, or with a dot, {{ .port }}, which is required when a
// function has the same name. A template that prints null is an error; hasKey, get and
// dig read names that may be missing.
//
// # Variables
//
// From the lowest to the highest precedence: defaults of a role, the inventory with group_vars and
// host_vars beside it and beside the playbook, the play, an import_playbook, vars_files of
// the play, vars of a role, block, task, variables that the task set has given a value,
// parameters of a role or include, command line. Within one of these layers the innermost
// role, block or include wins. Variables may read each other: all but
// those of the command line may contain {{ }}, which is evaluated with the variables of
// the task that reads the variable. hosts.NAME.vars has the variables of the inventory for
// another host, computed from what that host has before the run; variables that need facts
// or variables of a play are not there. The names of [lang.Reserved] are the engine's.
//
// `set: {port: 8080}` sets port for all later tasks of the host, in later plays too; with
// run_once on all hosts. Where the task was skipped, the variable keeps its value. Other
// hosts do not see it, because hosts do not run in lockstep. With register the values are
// fields of the registered name instead.
//
// vars_prompt is a list of variables that the user is asked for before any host is
// contacted: name, prompt (the question), default, private (the answer is not shown,
// appears in no output and is not stored; default true), confirm (ask twice). Variables
// given with -e are not asked for; without a terminal the default is used. An answer has
// the precedence of the command line.
//
// vars_files are mappings in files, found from the directory of the playbook. A value
// `!env NAME` is that of an environment variable of deployer, `!secret TEXT` one that no
// output shows. Files that end in .age are decrypted, and all values in them are secret.
//
// # Roles
//
// A role is a directory with tasks/main.yaml, handlers/main.yaml, defaults/main.yaml,
// vars/main.yaml, meta/main.yaml (dependencies, which run before the role, once a play),
// templates/ and files/; all are optional. Its name may be a path below a directory of
// roles, as in container-engine/containerd.
package compile
