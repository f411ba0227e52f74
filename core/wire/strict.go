package wire

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pinfold/pinfold/core"
)

// CheckUnderstood returns an error of reason ErrUnknownFeature if m, or a
// message in it, carries a field that this program does not know. Proto3 keeps
// such fields apart and goes on without them, which for a policy is fail-open.
func CheckUnderstood(m proto.Message) error {
	if where := unknownIn(m.ProtoReflect()); where != "" {
		return &core.Error{
			Reason: core.ErrUnknownFeature,
			Detail: "a " + where + " carries a field that this side does not know",
			Remedy: "update the older of host and backend",
		}
	}
	return nil
}

func unknownIn(m protoreflect.Message) (where string) {
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().Name())
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil {
			return true
		}
		if !field.IsList() {
			where = unknownIn(value.Message())
			return where == ""
		}
		for list, i := value.List(), 0; i < list.Len() && where == ""; i++ {
			where = unknownIn(list.Get(i).Message())
		}
		return where == ""
	})
	return where
}

// CheckFeatures returns an error of reason ErrUnknownFeature if required names
// a feature that is not among known.
func CheckFeatures(required, known []string) error {
	for _, feature := range required {
		if !contains(known, feature) {
			return &core.Error{
				Reason: core.ErrUnknownFeature,
				Detail: fmt.Sprintf("the request depends on the feature %q, which this backend does not have", feature),
				Remedy: "use a version of the backend that has it",
			}
		}
	}
	return nil
}

func contains(list []string, s string) bool {
	for _, item := range list {
		if item == s {
			return true
		}
	}
	return false
}

// malformed is the error for a message that breaks the contract.
func malformed(format string, args ...any) error {
	return &core.Error{Reason: core.ErrInvalidRequest, Detail: fmt.Sprintf(format, args...)}
}

// unknownValue is the error for an enumeration value that this side cannot read.
func unknownValue(what string, value int32) error {
	return &core.Error{
		Reason: core.ErrUnknownFeature,
		Detail: fmt.Sprintf("%d is no %s that this side knows", value, what),
		Remedy: "update the older of host and backend",
	}
}

// each converts a list, stopping at the first error.
func each[From, To any](list []From, convert func(From) (To, error)) ([]To, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]To, 0, len(list))
	for _, item := range list {
		converted, err := convert(item)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

// all converts a list with a function that cannot fail.
func all[From, To any](list []From, convert func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	out := make([]To, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}
