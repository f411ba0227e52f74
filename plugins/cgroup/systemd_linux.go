package cgroup

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// The D-Bus interface of systemd's managers (org.freedesktop.systemd1(5)).
const (
	systemdName    = "org.freedesktop.systemd1"
	systemdPath    = dbus.ObjectPath("/org/freedesktop/systemd1")
	systemdManager = "org.freedesktop.systemd1.Manager"
	busDriver      = "org.freedesktop.DBus"
	unitExists     = "org.freedesktop.systemd1.UnitExists"
)

// managerTimeout bounds the whole conversation with the user manager: some
// milliseconds normally. A host gives Open five seconds.
const managerTimeout = 4 * time.Second

// A userManager is a connection to the systemd that manages the user's services.
type userManager struct {
	conn *dbus.Conn
	// cgroup is the manager's own, above all of its units.
	cgroup string
}

// dialManager connects to the user manager by the first of the sockets that leads
// to one. The connection ends with ctx.
func dialManager(ctx context.Context, sockets []string) (*userManager, error) {
	var failed []error
	for _, socket := range sockets {
		m, err := dialManagerAt(ctx, socket)
		if err == nil {
			return m, nil
		}
		failed = append(failed, fmt.Errorf("%s: %w", socket, err))
	}
	return nil, errors.Join(failed...)
}

func dialManagerAt(ctx context.Context, socket string) (*userManager, error) {
	var dialer net.Dialer
	raw, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Unwrap(err) // the address is known already
	}
	conn, err := dbus.NewConn(raw, dbus.WithContext(ctx))
	if err != nil {
		raw.Close()
		return nil, err
	}
	m := &userManager{conn: conn}
	if err := m.introduce(ctx); err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx) // the connection was closed because of it
		}
		return nil, err
	}
	return m, nil
}

// introduce does what comes before the first request. It makes sure that a pid means
// the same process on the other side: the bus knows this process by the pid that it
// has here. And that it is the user's own manager that answers, not that of the
// system: the address may be one of any bus.
//
// The first connection after a login starts the bus, and the manager joins it a
// moment later. The bus keeps a call to the manager until then (seen with dbus
// 1.14), but would answer a question about it that there is none.
func (m *userManager) introduce(ctx context.Context) error {
	if err := m.conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return err
	}
	if err := m.conn.Hello(); err != nil {
		return err
	}
	var pid, uid uint32
	names := m.conn.Names()
	if len(names) == 0 {
		return errors.New("the bus gave this connection no name")
	}
	if err := m.manager().CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0,
		systemdManager, "ControlGroup").Store(&m.cgroup); err != nil {
		return err
	}
	bus := m.conn.BusObject()
	if err := bus.CallWithContext(ctx, busDriver+".GetConnectionUnixProcessID", 0, names[0]).Store(&pid); err != nil {
		return err
	}
	if err := bus.CallWithContext(ctx, busDriver+".GetConnectionUnixUser", 0, systemdName).Store(&uid); err != nil {
		return err
	}
	if int(uid) != os.Geteuid() {
		return fmt.Errorf("the service manager on this bus is of user %d", uid)
	}
	if int(pid) != os.Getpid() {
		return fmt.Errorf("the bus is in another PID namespace: it takes process %d for %d", os.Getpid(), pid)
	}
	return nil
}

func (m *userManager) manager() dbus.BusObject { return m.conn.Object(systemdName, systemdPath) }

func (m *userManager) close() { m.conn.Close() }

// startScope makes a transient scope and waits until systemd says what became of
// it. One of that name that is there already is no error.
func (m *userManager) startScope(ctx context.Context, name string, properties []property) error {
	if err := m.conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(systemdName), dbus.WithMatchObjectPath(systemdPath),
		dbus.WithMatchInterface(systemdManager), dbus.WithMatchMember("JobRemoved")); err != nil {
		return err
	}
	// Listening before asking: the answer may be quicker than the reply.
	signals := make(chan *dbus.Signal, 64)
	m.conn.Signal(signals)

	settings := make([]struct {
		Name  string
		Value dbus.Variant
	}, len(properties))
	for i, p := range properties {
		settings[i].Name, settings[i].Value = p.Name, dbus.MakeVariant(p.Value)
	}
	type auxiliaryUnit struct {
		Name     string
		Settings []struct {
			Name  string
			Value dbus.Variant
		}
	}
	var job dbus.ObjectPath
	err := m.manager().CallWithContext(ctx, systemdManager+".StartTransientUnit", dbus.FlagNoAutoStart,
		name, "fail", settings, []auxiliaryUnit{}).Store(&job)
	var refusal dbus.Error
	if errors.As(err, &refusal) && refusal.Name == unitExists {
		return nil
	}
	if err != nil {
		return err
	}
	return waitForJob(ctx, signals, job)
}

// waitForJob waits for the signal that a job has ended.
func waitForJob(ctx context.Context, signals <-chan *dbus.Signal, job dbus.ObjectPath) error {
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for systemd to finish the job: %w", context.Cause(ctx))
		case signal, open := <-signals:
			if !open {
				return errors.New("the connection to the bus was closed")
			}
			var removed struct {
				ID           uint32
				Job          dbus.ObjectPath
				Unit, Result string
			}
			if signal.Name != systemdManager+".JobRemoved" ||
				dbus.Store(signal.Body, &removed.ID, &removed.Job, &removed.Unit, &removed.Result) != nil || removed.Job != job {
				continue
			}
			if removed.Result != "done" {
				return fmt.Errorf("the job of systemd ended as %q", removed.Result)
			}
			return nil
		}
	}
}
