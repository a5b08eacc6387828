// Package compile turns YAML plays, roles and tasks into a [program.Program]: one
// list of operations that the scheduler takes every host through. A [Compiler] is
// filled by package project with the kinds of task, the directories of roles and the
// inventory. All that can be wrong without a connection to a host is reported at
// once, each error with file, line and column; the checks of variables are in package
// vet.
//
// # Plays
//
// A playbook is a list of plays, and of entries `import_playbook: FILE` (with
// vars and tags for all its plays). A play has hosts (a pattern, required), name,
// vars, vars_files, vars_prompt, roles, pre_tasks, tasks, post_tasks, handlers, tags, max_fail (how many
// hosts of a group may be lost: a number or a share) and barrier (wait for all
// live hosts of the play before its first task). Its tasks run in the order
// pre_tasks, roles, tasks, post_tasks; then its handlers.
//
// max_fail_percentage is max_fail for all hosts of the play together, in percent.
// any_errors_fatal ends the run when a host is lost in the play, whatever max_fail
// allows. force_handlers runs what was notified on a host whose play then fails;
// without it the next run does, as the host remembers. forks bounds how many hosts
// of the play work at one time, below the limit of the run. gather_facts is
// accepted and changes nothing: facts come with the agent's greeting, at no cost.
//
// Hosts run free: none waits for another unless a task says so. With strategy:
// linear each task waits until all live hosts of the play have done the one
// before; a throttled block counts as one task, and so do the handlers. A task
// then costs a round trip for all, so it is for plays that count on lockstep.
// With serial (a
// number, a share such as 10%, or a list of both whose last entry repeats) the
// hosts go through the play in batches, in inventory order. A batch begins when
// every host of those before has ended the play, handlers included, or is lost;
// when a whole batch was lost the run stops. Barriers, run_once and needs inside
// of the play are those of a batch; another play waits for all batches.
//
// # Tasks
//
// A task names one module and its arguments. Of a module with a main argument a
// text or list is that argument alone, as in `command: uptime -p`. Beside it may
// stand:
//
//	name           for people; may have expressions
//	when           a condition, or a list of conditions that must all hold
//	loop           a list, or an expression that gives one; the task runs for each item, as `item`
//	loop_control   loop_var and index_var: names for the item and for its position from 0; label: what
//	               is shown of the item
//	register       keep the result under this name: changed, failed, skipped, message, and what
//	               the task put out; of a loop: results, changed, failed, skipped
//	notify         handlers to run if this task changes something
//	changed_when, failed_when   decide by the result, which is `result` and the registered name
//	until          try again until this holds (retries 3, delay 5s)
//	retries, delay, timeout     how often more to try, the wait between, the limit of one try: that of the
//	                            module without it, 0 for none
//	ignore_errors  go on after a failure
//	throttle       at most so many hosts at once: a number or an expression, 0 for no limit
//	run_once       the first host does it for all, in inventory order among those that come to it
//	               (within a throttle, the first to come); the others wait and see its result
//	delegate_to    do it on another host, or on localhost: the machine that deployer runs on. Variables,
//	               result and handlers stay those of the play's host; a delegate that cannot be reached
//	               fails the task. May have templates
//	become_user    run the task's programs as this user; become: false as who logged in over SSH
//	environment    a mapping of variables for the task's programs
//	barrier        before this task, wait for all live hosts of the play
//	label, needs   wait until all (or count) live hosts that run the labelled task have passed it
//	vars, tags, secret (of the step only the module, files and the exit code are
//	shown: no diff, output, command line or reason of a failure)
//
// Files are named as seen from the playbook, or from the tasks of the role; what
// include_tasks names, first as seen from the file that has it. ../ and absolute
// names lead elsewhere on the machine that deployer runs on. Long forms mean the
// same: include_role: {name: NAME}, include_tasks: {file: FILE}.
//
// include_tasks and include_role may have a loop, with loop_control: what is included
// stands there once for each item, and all in it knows the item. The list must be
// known before the run: it is written out (items may have any templates), or looks at
// variables of the playbook, the inventory and the command line, not at facts, results
// or what tasks set. Each host may have a list of its own. A loop inside calls its
// item otherwise (loop_var); a label cannot stand inside.
//
// include_vars: FILE gives the variables of a file in vars/ of the role, or beside the
// playbook, their values for later tasks, as set does. The name may have templates,
// such as "{{ facts.os_family }}.yaml", and is compared without regard to case; of a
// list of names the first that exists counts. All files that may be meant are read
// before the run.
//
// Instead of a module: block with a list of tasks (and rescue, always, when,
// throttle, rollout, vars, tags, needs, barrier, label), include_role, include_tasks, include_vars, or
// meta: flush_handlers, end_host or end_play. With a mapping, block is the module of that name.
// ignore_errors, timeout, delegate_to, become, become_user and environment may
// also stand at these, at a role and at a play: what stands inside has them too,
// unless it says otherwise.
// A block's condition is evaluated once, on entering; its throttle holds for the
// whole of it. In rescue and always, `failure` has message, detail and step.
// A task whose condition does not hold waits for no label and takes no turn.
//
// # Rollouts
//
// A block with rollout changes hosts that are in use. It tries one host first, proves
// the effect, and restores what fails:
//
//	tasks:
//	  - name: web server
//	    rollout: {canary: [web], max_parallel: 10%, max_fail: 0}
//	    block:
//	      - template: {src: site.conf, dest: /etc/nginx/conf.d/site.conf}
//	      - unit: {name: nginx.service, state: started, restart_if_older_than: [/etc/nginx/conf.d/site.conf]}
//	      - wait_for: {http: {url: "http://127.0.0.1/health"}, timeout: 30s}
//
// Each host first checks the whole block. A host on which nothing would change takes
// no turn and waits for nobody. Of the hosts that would change, one of each group of
// canary goes alone, in the order of the groups; then the others go, max_parallel at
// a time (a number, a share of the hosts of the play, or an expression that gives
// either; default 10%, at least 1), and of each group in one_at_a_time one at a time.
// canary is [all] unless said; [] has none.
//
// A host that fails inside of the block after something was changed on it gets back
// what its tasks have replaced, the last first; what runs follows the restored files,
// handlers included, and the block's readiness gates (waits, units, checks) must hold
// again. The rollout stops when a canary fails, or more hosts than max_fail (default
// 0) after the canaries. No other host is changed then, hosts inside come to the end
// of the block or are restored, and the run ends with exit code 6 when each host that
// failed is as it was before. --no-restore leaves a failed host as it is. A host that
// is lost inside cannot be restored; it stops the rollout, too, and is named.
//
// Commands and what tasks do on the controller or on other hosts cannot be restored:
// keep them out of a rollout, or make them harmless to repeat. when (a condition of
// rollout itself) says on which hosts it is in force; elsewhere the block is like any
// other. A barrier, run_once, meta: end_host or another rollout cannot stand inside.
//
// # Users
//
// deployer works on a host as one user, root where the inventory's ssh.become says
// how to become it. become_user: NAME runs the programs of a task as NAME, with
// its groups and home; become: false as the user who logged in. Both concern
// tasks that run programs: command, shell, script, git. Other modules do their
// work themselves: those that write files have owner: for it, and refuse another
// user; for those to which it makes no difference who does it, a user around them
// means nothing.
//
// # Handlers
//
// A host remembers which handlers its changes have made necessary until they have
// run: when a run is killed, or a host lost, between a change and its handler, the
// next run of the same playbook runs it. This does not hold for handlers that run
// on the controller or are delegated to another host.
//
// meta: end_host, mostly with when, takes the host to the end of the play: what is
// due there runs, and the host is in the next play again. A failure that led into an
// always part is not forgotten by it. meta: end_play does so with all hosts; what
// decides it must be the same on all.
//
// Handlers run at the end of the play, or at flush_handlers, once, in the order
// of definition; one that is notified by another handler comes after it. A name
// is looked for in the role of the task first, then in the play, then in its
// other roles. With listen (a name or a list of names) a handler answers to those
// too, together with all others that listen to them.
//
// # Expressions and templates
//
// Conditions, loops, throttles and what stands in {{ }} of a text are expressions of
// https://expr-lang.org:
//
//	when: facts.os == "debian" and not (maintenance | default(false))
//	loop: groups.web | difference([host.name])
//	line: {path: /etc/hosts, line: "{{ hosts[item].address }} {{ item }}:{{ port ?? 8080 }}"}
//
// A text that is one {{ }} keeps the type of its value. In a longer text numbers have no
// exponent, lists and mappings are JSON, and null is an error. {{- and -}} drop the white
// space beside them. Braces that are to stay stand in quotes, {{ '{{' }}, or between
// {% raw %} and {% endraw %}. {{ omit }} leaves its argument out, as in
// {{ mode | default(omit) }}. An argument that is not a text gets the value of the
// expression, or else the text read as YAML.
//
// Expressions may call the functions of expr, the filters of Ansible (default,
// regex_replace, combine, dict2items, ipaddr, to_nice_yaml and the like; the guide "From
// Ansible" lists them), and those of sprig but for env, expandenv and getHostByName, with
// toYaml, fromYaml, toToml and versionCompare(a, b), which is -1, 0 or 1. Behind a | all
// of them take the value in front of it, as their first argument, those of sprig as their
// last; a | binds to what stands right before it. lookup('file', NAME), lookup('template',
// NAME), lookup('env', NAME) and lookup('password', 'FILE length=20') read what is on the
// machine that deployer runs on; the last one makes the file when there is none, in a dry
// run too, so that the run that follows has the same. What they find is not known to be
// secret: a task that handles a password says secret: true.
//
// A name that does not exist is an error, found before any host is contacted where it is
// certain that a host comes to it: in tasks without a condition, in the template files
// that these name, and in conditions. Where it may be missing, there are a | default(b),
// a ?? b, a?.b and "a" in $env.
//
// Template files are text/template with the functions of sprig and toYaml, fromYaml,
// toToml; they may include each other. A variable stands there by its name, {{ port }},
// {{ host.name }}, {{ if debug }}, or with a dot, {{ .port }}, as it has to when a function
// is called the same. A template that prints null is an error; hasKey, get and dig ask
// for what may be missing.
//
// # Variables
//
// From the weakest to the strongest: defaults of a role, the inventory with
// group_vars and host_vars beside it and beside the playbook, an import_playbook,
// the play, its vars_files, vars of a role, block, task, what the task set has
// given a value, parameters of a role or include, command line. They may refer to
// each other: all but those of the command line may have expressions in {{ }}, which see
// what the task sees that looks at the variable. hosts.NAME.vars has those of the
// inventory, computed by what that host has before the run: what needs facts or the
// variables of a play is not there. The names of [lang.Reserved] are the engine's.
//
// `set: {port: 8080}` gives port a value for all later tasks of the host, of later
// plays too; with run_once on all hosts. Where it was skipped, the variable is what
// it was before. Other hosts do not see it: hosts do not walk in step. With register the values are fields of
// that name instead.
//
// vars_prompt is a list of variables that are asked for on the terminal before any
// host is contacted: name, prompt (the question), default, private (the answer is not
// shown, reaches no output and is written down nowhere; default true), confirm (ask
// twice). What -e gives is not asked for; where nobody can be asked, the default
// counts. An answer wins as one of the command line does.
//
// vars_files are mappings in files, found from the directory of the playbook. A
// value `!env NAME` is that of an environment variable of deployer, `!secret TEXT`
// one that no output shows. Files that end in .age are opened first, and all that
// is in them is secret.
//
// # Roles
//
// A role is a directory with tasks/main.yaml, handlers/main.yaml,
// defaults/main.yaml, vars/main.yaml, meta/main.yaml (dependencies, which come
// before it, once a play), templates/ and files/; all are optional. Its name may be a
// path below a directory of roles, as in container-engine/containerd.
package compile
