# What only the CPU backend has: its worker thread, its choice of a GEMM, and collectives between ranks that mpirun
# starts.
foreach(name test_worker test_products)
  add_executable(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c)
  target_link_libraries(${name} PRIVATE tt_cli)
  add_test(NAME ${name} COMMAND ${name})
endforeach()

if(NOT TT_MPI OR NOT MPI_C_FOUND OR NOT MPIEXEC_EXECUTABLE)
  return()
endif()
# Allows root, more ranks than cores, and no binding, in Open MPI 4 and 5; other MPIs ignore these variables.
set(environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
  OMPI_MCA_hwloc_base_binding_policy=none PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
  PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none OMP_NUM_THREADS=1)
foreach(ranks 1 2 3 4)
  add_test(NAME collectives_${ranks} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} $<TARGET_FILE:test_collectives>)
  set_tests_properties(collectives_${ranks} PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 300 PROCESSORS 2)
endforeach()
# Every wait reports a failure of the worker. The output decides: mpirun's exit code is arbitrary if a rank exits
# without MPI_Finalize.
add_test(NAME collectives_disagree COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 $<TARGET_FILE:test_collectives> disagree)
set_tests_properties(collectives_disagree PROPERTIES ENVIRONMENT "${environment}" TIMEOUT 60
  PASS_REGULAR_EXPRESSION "rank 0 is told: MPI_Testall: [^\n]*[Tt]runcate[^\n]*\nand again")
set_property(TEST test_collectives APPEND PROPERTY ENVIRONMENT ${environment})
