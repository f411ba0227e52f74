package landlock

import (
	"context"
	"os"
	"slices"
	"sync"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/pinfold/pinfold/core"
	"github.com/pinfold/pinfold/plugins/landlock/seccomp"
)

// A Confiner confines by Landlock and seccomp. It holds nothing but what it found
// out about the machine. Use [New]. It is safe for concurrent use.
type Confiner struct {
	mu    sync.Mutex
	known *machine // does not change while a process runs
	etc   etcNamesCache
}

func newConfiner() *Confiner { return &Confiner{etc: etcNamesCache{dir: etc, settle: settleTime}} }

// machine returns what is known of the machine. A failure to find out is not kept:
// the next call tries again.
func (c *Confiner) machine() (*machine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		m, err := observeMachine()
		if err != nil {
			return nil, err
		}
		c.known = m
	}
	return c.known, nil
}

// Probe implements [core.Backend]. The findings answer a policy that asks for
// everything this backend is about.
func (c *Confiner) Probe(ctx context.Context) (*core.Capability, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m, err := c.machine()
	if err != nil {
		return nil, err
	}
	everything := core.WorkspaceWrite("/")
	d := newDesign(m, &everything)
	findings := d.findings()
	limits := core.LimitsPolicy{OpenFiles: 1, FileSize: 1, NoCore: true}
	_, f := d.processLimits(limits)
	findings = append(findings, *f)
	return &core.Capability{Findings: findings, Facts: append(m.facts(), m.versionFacts()...)}, nil
}

// Plan implements [core.Confiner]. It opens the paths of the policy and makes the
// ruleset; the process it runs in stays as it was.
func (c *Confiner) Plan(ctx context.Context, req *core.PlanRequest) (*core.Plan, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := validate(req); err != nil {
		return nil, err
	}
	m, err := c.machine()
	if err != nil {
		return nil, err
	}
	b := &builder{design: newDesign(m, &req.Policy), ctx: ctx, etc: &c.etc}
	plan, err := b.build(req)
	if err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// A builder makes one plan.
type builder struct {
	*design
	ctx        context.Context
	etc        *etcNamesCache
	ruleset    *os.File // nil if the design has none
	denials    []*denial
	bounds     []bound
	barred     []bar
	mountTable mountTable // read when first needed
	lines      []string   // the listing of the ruleset's rules
}

// build fills in the plan. The plan is returned with an error too, for closing.
func (b *builder) build(req *core.PlanRequest) (*core.Plan, error) {
	plan := &core.Plan{}
	p := b.policy
	plan.Enforcement.Dimensions = b.findings()
	if limits, f := b.processLimits(p.Limits); f != nil {
		plan.Birth.Limits = limits
		plan.Enforcement.Dimensions = append(plan.Enforcement.Dimensions, *f)
	}
	if err := b.createRuleset(&plan.Birth); err != nil {
		return plan, err
	}
	if err := b.settleConstraints(req.Constraints); err != nil {
		return plan, err
	}
	if err := b.addFilesystem(plan); err != nil {
		return plan, err
	}
	network, err := b.addPorts()
	if err != nil {
		return plan, err
	}
	sockets, err := b.addSockets()
	if err != nil {
		return plan, err
	}
	plan.Enforcement.Rules = slices.Concat(plan.Enforcement.Rules, network, sockets)
	plan.Constraints = b.answer(req.Constraints)

	filter := noFilter
	if b.filter != nil {
		if filter, err = compiled(*b.filter); err != nil {
			return plan, err
		}
		plan.Birth.Seccomp = []core.SeccompFilter{{Program: slices.Clone(filter.program)}}
	}
	plan.Birth.DropCapabilities = b.drop
	plan.Birth.NoNewPrivileges = b.drop != 0 || b.domain() || b.filter != nil || p.Asks(core.Privileges)
	plan.Listing = listPlan(b.design, &plan.Birth, b.lines) + filter.listing
	return plan, nil
}

// createRuleset makes the ruleset of the design, empty. The flags of
// landlock_restrict_self stay 0: the child that applies it has one thread, sets
// no_new_privs itself, and the kernel's defaults for audit records are right, as
// they log what the program itself is denied and not what it starts.
func (b *builder) createRuleset(birth *core.Birth) error {
	if !b.domain() {
		return nil
	}
	fd, err := llsys.LandlockCreateRuleset(&llsys.RulesetAttr{
		HandledAccessFS:  b.handled.fs,
		HandledAccessNet: b.handled.net,
		Scoped:           b.handled.scoped,
	}, 0)
	if err != nil {
		return planError("", "the kernel does not create a Landlock ruleset", err)
	}
	b.ruleset = os.NewFile(uintptr(fd), "landlock-ruleset")
	birth.Landlock = []core.LandlockRuleset{{File: b.ruleset}}
	return nil
}

// A filter is a compiled filter and its listing. Both follow from the options, of
// which there are a few dozen, so they are kept.
type filter struct {
	program []core.BPFInstruction
	listing string
}

var (
	filters  sync.Map // of seccomp.Options to filter
	noFilter = filter{listing: "# no seccomp filter\n"}
)

func compiled(o seccomp.Options) (filter, error) {
	if f, ok := filters.Load(o); ok {
		return f.(filter), nil
	}
	program, err := seccomp.Compile(o)
	if err != nil {
		return filter{}, bug("compiling the filter", err)
	}
	listing, err := seccomp.Listing(o)
	if err != nil {
		return filter{}, bug("listing the filter", err)
	}
	f, _ := filters.LoadOrStore(o, filter{program.Program, listing})
	return f.(filter), nil
}

// bug is for what cannot fail unless this package is wrong.
func bug(doing string, err error) error {
	return &core.Error{Reason: core.ErrInternal, Stage: core.StagePlan, Backend: Name, Detail: doing, Err: err}
}
