# A Spack package: spack repo create REPO; mkdir REPO/packages/tinytransformer; copy this file there as package.py;
#   spack dev-build --source-path PATH-OF-THE-CLONE tinytransformer@main +cuda cuda_arch=90a
from spack.package import *

try:  # the build systems moved here in Spack 1.0; before, they were in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage, generator
    from spack_repo.builtin.build_systems.cuda import CudaPackage
    from spack_repo.builtin.build_systems.rocm import ROCmPackage
except ImportError:
    pass


class Tinytransformer(CMakePackage, CudaPackage, ROCmPackage):
    """One C program that trains a tiny LLaMA on NVIDIA, AMD and CPU, in three versions that compute the same at three
    levels of optimisation, and shows where the time goes."""

    license("MIT")

    version("main")

    variant("openmp", default=True, description="CPU kernels on several threads")
    variant("blas", default=True, description="Multiply matrices with a CBLAS on the CPU")
    variant("mpi", default=True, description="Let several processes compute together on CPUs")
    variant("nccl", default=True, description="Let several GPUs compute together, by NCCL or RCCL")

    conflicts("+cuda", when="+rocm", msg="tt has one backend at a time")
    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs: cuda_arch=80,90a")
    conflicts("amdgpu_target=none", when="+rocm", msg="name the GPUs: amdgpu_target=gfx90a,gfx942")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("cxx", type="build", when="+rocm")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("openblas threads=none", when="~cuda~rocm+blas")
    depends_on("mpi", when="~cuda~rocm+mpi")
    depends_on("cuda@12.2:", when="+cuda")
    depends_on("nccl@2.13:", when="+cuda+nccl")
    depends_on("rccl@6.2:", when="+rocm+nccl")
    depends_on("hip@6.2:", when="+rocm")
    depends_on("hipblas@6.2:", when="+rocm")
    depends_on("hipblaslt@6.2:", when="+rocm")

    generator("ninja")

    def cmake_args(self):
        backend = "cuda" if self.spec.satisfies("+cuda") else "hip" if self.spec.satisfies("+rocm") else "cpu"
        args = [
            self.define("BACKEND", backend),
            self.define("BUILD_TESTING", self.run_tests),
            self.define_from_variant("TT_OPENMP", "openmp"),
            self.define_from_variant("TT_BLAS", "blas"),
            self.define_from_variant("TT_MPI", "mpi"),
            self.define_from_variant("TT_NCCL", "nccl"),
        ]
        if backend == "cuda":
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        if backend == "hip":
            args.append(self.define("GPU_TARGETS", self.spec.variants["amdgpu_target"].value))
            args.append(self.define("ROCM_PATH", self.spec["hip"].prefix))
        return args
